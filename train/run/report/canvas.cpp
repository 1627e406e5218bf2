#include "train/run/report/canvas.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>

#include "train/run/report/letters.h"

namespace brightnet {
namespace {

constexpr int oversampling = 2;
/// Fractional bits of OpenCV's fixed-point coordinates.
constexpr int shift = 4;
constexpr int font = cv::FONT_HERSHEY_SIMPLEX;
/// Height of this font's capitals at scale 1, in pixels.
constexpr double capital_height = 21;

cv::Point fixed(cv::Point2d p) {
  // OpenCV's origin is the centre of the first pixel, ours its corner.
  const auto scaled = [](double v) {
    return static_cast<int>(std::lround((v * oversampling - 0.5) * (1 << shift)));
  };
  return {scaled(p.x), scaled(p.y)};
}

int thickness(double width) {
  return std::max(1, static_cast<int>(std::lround(width * oversampling)));
}

int text_thickness(double height, bool bold) {
  return thickness(height * (bold ? 0.16 : 0.1));
}

double text_scale(double height) {
  return height * oversampling / capital_height;
}

/// Left end of a text of this width that is aligned to `at`.
double left_end(double at, double width, Align align) {
  return align == Align::left ? at : align == Align::right ? at - width : at - width / 2;
}

}  // namespace

Canvas::Canvas(int width, int height, cv::Scalar background)
    : pixels_(height * oversampling, width * oversampling, CV_8UC3, background) {}

void Canvas::line(cv::Point2d from, cv::Point2d to, const cv::Scalar& color, double width) {
  cv::line(pixels_, fixed(from), fixed(to), color, thickness(width), cv::LINE_AA, shift);
}

void Canvas::polyline(const std::vector<cv::Point2d>& points, const cv::Scalar& color, double width) {
  std::vector<cv::Point> scaled;
  for (const cv::Point2d& point : points) scaled.push_back(fixed(point));
  cv::polylines(pixels_, scaled, false, color, thickness(width), cv::LINE_AA, shift);
}

void Canvas::dot(cv::Point2d center, double radius, const cv::Scalar& color) {
  const auto scaled = static_cast<int>(std::lround(radius * oversampling * (1 << shift)));
  cv::circle(pixels_, fixed(center), scaled, color, cv::FILLED, cv::LINE_AA, shift);
}

void Canvas::fill(const cv::Rect2d& area, const cv::Scalar& color) {
  const auto round = [](double v) { return static_cast<int>(std::lround(v * oversampling)); };
  const cv::Point corner(round(area.x), round(area.y));
  const cv::Rect rect(corner, cv::Point(round(area.x + area.width), round(area.y + area.height)));
  const cv::Rect inside = rect & cv::Rect(0, 0, pixels_.cols, pixels_.rows);
  if (!inside.empty()) pixels_(inside).setTo(color);
}

void Canvas::frame(const cv::Rect2d& area, const cv::Scalar& color, double width) {
  const cv::Point2d a = area.tl(), b = area.br();
  line(a, {b.x, a.y}, color, width);
  line({b.x, a.y}, b, color, width);
  line(b, {a.x, b.y}, color, width);
  line({a.x, b.y}, a, color, width);
}

void Canvas::text(const std::string& words, cv::Point2d at, double height, const cv::Scalar& color,
                  Align align, bool bold) {
  const std::string letters = drawable(words);
  const double left = left_end(at.x, text_width(letters, height, bold), align);
  const cv::Point origin(static_cast<int>(std::lround(left * oversampling)),
                         static_cast<int>(std::lround((at.y + height / 2) * oversampling)));
  cv::putText(pixels_, letters, origin, font, text_scale(height), color, text_thickness(height, bold),
              cv::LINE_AA);
}

void Canvas::text_upward(const std::string& words, cv::Point2d at, double height, const cv::Scalar& color,
                         Align align, bool bold) {
  // Rotates the region clockwise, draws horizontally, and rotates it back.
  const double width = text_width(drawable(words), height, bold);
  const double top = at.y - (align == Align::left ? width : align == Align::right ? 0 : width / 2);
  const auto round = [](double v) { return static_cast<int>(std::lround(v * oversampling)); };
  const double margin = height;
  const cv::Rect place =
      cv::Rect(round(at.x - margin), round(top - margin), round(2 * margin), round(width + 2 * margin));
  const cv::Rect visible = place & cv::Rect(0, 0, pixels_.cols, pixels_.rows);
  if (visible.empty()) return;
  cv::Mat turned;
  cv::rotate(pixels_(visible), turned, cv::ROTATE_90_CLOCKWISE);
  const cv::Point origin((visible.y + visible.height) - round(top + width),
                         round(at.x) - visible.x + round(height / 2));
  cv::putText(turned, drawable(words), origin, font, text_scale(height), color, text_thickness(height, bold),
              cv::LINE_AA);
  cv::Mat back;
  cv::rotate(turned, back, cv::ROTATE_90_COUNTERCLOCKWISE);
  back.copyTo(pixels_(visible));
}

double Canvas::text_width(const std::string& words, double height, bool bold) {
  int baseline = 0;
  const cv::Size size =
      cv::getTextSize(drawable(words), font, text_scale(height), text_thickness(height, bold), &baseline);
  return static_cast<double>(size.width) / oversampling;
}

cv::Mat Canvas::finish() const {
  cv::Mat picture;
  cv::resize(pixels_, picture, cv::Size(pixels_.cols / oversampling, pixels_.rows / oversampling), 0, 0,
             cv::INTER_AREA);
  return picture;
}

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string tick_label(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  const double largest = std::max(std::abs(value), step);
  if (largest >= 1e5 || largest < 1e-3) return fmt::format("{:.3g}", value);
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace brightnet
