// A drawing surface for plots: OpenCV's lines, drawn at twice the size and scaled down for anti-aliasing, and
// words on top of them. Coordinates and sizes are in units of which a finished picture has `density` pixels.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace brightnet {

enum class Align { left, center, right };

class Canvas {
 public:
  /// Pixels of the finished picture in a unit: more than one, so that plots stay sharp where they
  /// are enlarged.
  static constexpr double density = 1.5;

  Canvas(int width, int height, cv::Scalar background = {255, 255, 255});

  void line(cv::Point2d from, cv::Point2d to, const cv::Scalar& color, double width);
  void polyline(const std::vector<cv::Point2d>& points, const cv::Scalar& color, double width);
  void dashes(cv::Point2d from, cv::Point2d to, const cv::Scalar& color, double width);
  void dot(cv::Point2d center, double radius, const cv::Scalar& color);
  void fill(const cv::Rect2d& area, const cv::Scalar& color);
  void frame(const cv::Rect2d& area, const cv::Scalar& color, double width);
  /// Draws one line of UTF-8 text, vertically centred on `at.y`; `height` is that of a capital letter. Words lie on
  /// top of everything else.
  void text(const std::string& words, cv::Point2d at, double height, const cv::Scalar& color,
            Align align = Align::left, bool bold = false);
  /// Draws one line of UTF-8 text, rotated to read upward; `align` applies along the vertical.
  void text_upward(const std::string& words, cv::Point2d at, double height, const cv::Scalar& color,
                   Align align = Align::center, bool bold = false);
  static double text_width(const std::string& words, double height, bool bold = false);

  /// The picture (RGB).
  cv::Mat finish() const;

 private:
  struct Words {
    std::string text;
    /// The point at which the text begins.
    cv::Point2d at;
    double height;
    cv::Scalar color;
    bool bold, upward;
  };

  cv::Mat pixels_;
  std::vector<Words> words_;
};

/// Multiples of a step (1, 2 or 5 times a power of ten) that cover [low, high] in about `count` steps.
std::vector<double> round_ticks(double low, double high, int count);
/// The shortest form that differs from a neighbour `step` away: "0.25", "20", "1e-05".
std::string tick_label(double value, double step);

}  // namespace brightnet
