#include "data/drawing/canvas.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>

#include "data/drawing/typeface.h"

namespace brightnet {
namespace {

/// How many pixels a unit has before the picture is scaled down.
constexpr double drawn_density = 2 * Canvas::density;
/// Fractional bits of OpenCV's fixed-point coordinates.
constexpr int shift = 4;

int drawn(double length) {
  return static_cast<int>(std::lround(length * drawn_density));
}

cv::Point fixed(cv::Point2d p) {
  // OpenCV's origin is the centre of the first pixel, ours its corner.
  const auto scaled = [](double v) {
    return static_cast<int>(std::lround((v * drawn_density - 0.5) * (1 << shift)));
  };
  return {scaled(p.x), scaled(p.y)};
}

int thickness(double width) {
  return std::max(1, drawn(width));
}

/// Left end of a text of this width that is aligned to `at`.
double left_end(double at, double width, Align align) {
  return align == Align::left ? at : align == Align::right ? at - width : at - width / 2;
}

}  // namespace

Canvas::Canvas(int width, int height, cv::Scalar background)
    : pixels_(drawn(height), drawn(width), CV_8UC3, background) {}

void Canvas::line(cv::Point2d from, cv::Point2d to, const cv::Scalar& color, double width) {
  cv::line(pixels_, fixed(from), fixed(to), color, thickness(width), cv::LINE_AA, shift);
}

void Canvas::polyline(const std::vector<cv::Point2d>& points, const cv::Scalar& color, double width) {
  std::vector<cv::Point> scaled;
  for (const cv::Point2d& point : points) scaled.push_back(fixed(point));
  cv::polylines(pixels_, scaled, false, color, thickness(width), cv::LINE_AA, shift);
}

void Canvas::dot(cv::Point2d center, double radius, const cv::Scalar& color) {
  const auto scaled = static_cast<int>(std::lround(radius * drawn_density * (1 << shift)));
  cv::circle(pixels_, fixed(center), scaled, color, cv::FILLED, cv::LINE_AA, shift);
}

void Canvas::fill(const cv::Rect2d& area, const cv::Scalar& color) {
  const cv::Rect rect(cv::Point(drawn(area.x), drawn(area.y)),
                      cv::Point(drawn(area.x + area.width), drawn(area.y + area.height)));
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

void Canvas::dashes(cv::Point2d from, cv::Point2d to, const cv::Scalar& color, double width) {
  const cv::Point2d way = to - from;
  const double length = cv::norm(way), step = 4 * width + 3;
  for (double at = 0; at < length; at += 2 * step)
    line(from + way * (at / length), from + way * (std::min(length, at + step) / length), color, width);
}

void Canvas::text(const std::string& words, cv::Point2d at, double height, const cv::Scalar& color,
                  Align align, bool bold) {
  words_.push_back(
      {words, {left_end(at.x, text_width(words, height, bold), align), at.y}, height, color, bold, false});
}

void Canvas::text_upward(const std::string& words, cv::Point2d at, double height, const cv::Scalar& color,
                         Align align, bool bold) {
  words_.push_back(
      {words, {at.x, -left_end(-at.y, text_width(words, height, bold), align)}, height, color, bold, true});
}

double Canvas::text_width(const std::string& words, double height, bool bold) {
  return brightnet::text_width(words, height * density, bold) / density;
}

cv::Mat Canvas::finish() const {
  cv::Mat picture;
  cv::resize(pixels_, picture, cv::Size(pixels_.cols / 2, pixels_.rows / 2), 0, 0, cv::INTER_AREA);
  for (const Words& words : words_) {
    if (!words.upward)
      draw_text(picture, words.text, words.at * density, words.height * density, words.color, words.bold);
  }
  // Words that read upward are drawn on their columns of the picture, rotated clockwise, where they lie flat.
  for (const Words& words : words_) {
    if (!words.upward) continue;
    const cv::Point2d at = words.at * density;
    const double reach = 3 * words.height * density;  // of accents and descenders too
    const int left = std::clamp(static_cast<int>(at.x - reach), 0, picture.cols);
    const int right = std::clamp(static_cast<int>(at.x + reach) + 1, left, picture.cols);
    if (left == right) continue;
    cv::Mat columns = picture.colRange(left, right), turned;
    cv::rotate(columns, turned, cv::ROTATE_90_CLOCKWISE);
    draw_text(turned, words.text, {picture.rows - at.y, at.x - left}, words.height * density, words.color,
              words.bold);
    cv::rotate(turned, columns, cv::ROTATE_90_COUNTERCLOCKWISE);
  }
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
