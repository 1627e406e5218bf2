#include "data/synth/shape.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <opencv2/imgproc.hpp>

namespace brightnet {
namespace {

constexpr int subpixels = 4;  // antialiasing: shapes are drawn this many times larger

Contour star_polygon(int points, float inner) {
  Contour contour;
  for (int i = 0; i < 2 * points; ++i) {
    const float angle = std::numbers::pi_v<float> * i / points;
    const float radius = i % 2 == 0 ? 1 : inner;
    contour.emplace_back(radius * std::sin(angle), -radius * std::cos(angle));
  }
  return contour;
}

Contour circle_polygon(float radius) {
  Contour contour;
  for (int i = 0; i < 96; ++i) {
    const float angle = 2 * std::numbers::pi_v<float> * i / 96;
    contour.emplace_back(radius * std::cos(angle), radius * std::sin(angle));
  }
  return contour;
}

}  // namespace

std::vector<Contour> outline(int class_id, Random& random) {
  switch (class_id) {
    case 0: return {circle_polygon(0.9f)};
    case 1: return {{{-0.8f, -0.8f}, {0.8f, -0.8f}, {0.8f, 0.8f}, {-0.8f, 0.8f}}};
    case 2: return {{{0, -1}, {0.87f, 0.5f}, {-0.87f, 0.5f}}};
    case 3: return {star_polygon(5, random.uniform(0.38f, 0.5f))};
    case 4: {
      const float arm = random.uniform(0.24f, 0.36f);
      const float x[] = {-arm, arm, arm, 1, 1, arm, arm, -arm, -arm, -1, -1, -arm};
      const float y[] = {-1, -1, -arm, -arm, arm, arm, 1, 1, arm, arm, -arm, -arm};
      Contour cross;
      for (int i = 0; i < 12; ++i) cross.emplace_back(x[i], y[i]);
      return {cross};
    }
    default: return {circle_polygon(0.95f), circle_polygon(random.uniform(0.5f, 0.65f))};
  }
}

void place(std::vector<Contour>& contours, cv::Point2f centre, float radius, float stretch, float angle) {
  const float c = std::cos(angle), s = std::sin(angle);
  const float rx = radius * std::sqrt(stretch), ry = radius / std::sqrt(stretch);
  for (auto& contour : contours) {
    for (auto& p : contour) {
      const float x = rx * p.x, y = ry * p.y;
      p = {centre.x + c * x - s * y, centre.y + s * x + c * y};
    }
  }
}

cv::Rect2f extent(const Contour& contour) {
  cv::Point2f low = contour[0], high = contour[0];
  for (const auto& p : contour) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  return {low, high};
}

cv::Mat coverage(const std::vector<Contour>& contours, cv::Rect frame) {
  constexpr int fraction_bits = 4;
  std::vector<std::vector<cv::Point>> polygons;
  for (const auto& contour : contours) {
    auto& polygon = polygons.emplace_back();
    for (const auto& p : contour) {
      // OpenCV's pixel centres are at whole coordinates, ours at halves.
      const auto fixed = [](float v) { return cvRound((v * subpixels - 0.5f) * (1 << fraction_bits)); };
      polygon.emplace_back(fixed(p.x - frame.x), fixed(p.y - frame.y));
    }
  }
  cv::Mat large = cv::Mat::zeros(frame.height * subpixels, frame.width * subpixels, CV_8U);
  cv::fillPoly(large, polygons, 255, cv::LINE_8, fraction_bits);
  cv::Mat small, mask;
  cv::resize(large, small, frame.size(), 0, 0, cv::INTER_AREA);
  small.convertTo(mask, CV_32F, 1.0 / 255);
  return mask;
}

}  // namespace brightnet
