#include "data/image/homography.h"

#include <algorithm>
#include <cmath>

namespace brightnet {
namespace {

// Sutherland and Hodgman 1974, in homogeneous coordinates, so that it also cuts off what lies behind the
// observer: keeps the points whose product with `plane` is not negative.
void clip(std::vector<cv::Vec3d>& polygon, const cv::Vec3d& plane, std::vector<cv::Vec3d>& scratch) {
  scratch.clear();
  for (size_t i = 0; i < polygon.size(); ++i) {
    const cv::Vec3d &from = polygon[i], &to = polygon[(i + 1) % polygon.size()];
    const double a = from.dot(plane), b = to.dot(plane);
    if (a >= 0) scratch.push_back(from);
    if ((a < 0) != (b < 0)) scratch.push_back(from + (to - from) * (a / (a - b)));
  }
  polygon.swap(scratch);
}

}  // namespace

Homography homography_of(const Placement& placement) {
  return {placement.scale_x, 0, placement.offset_x, 0, placement.scale_y, placement.offset_y, 0, 0, 1};
}

std::optional<Placement> placement_of(const Homography& map) {
  const bool straight =
      map(0, 1) == 0 && map(1, 0) == 0 && map(2, 0) == 0 && map(2, 1) == 0 && map(2, 2) == 1;
  if (!straight) return std::nullopt;
  return Placement{static_cast<float>(map(0, 0)), static_cast<float>(map(1, 1)),
                   static_cast<float>(map(0, 2)), static_cast<float>(map(1, 2))};
}

Homography transposed(const Homography& map) {
  return Homography(0, 1, 0, 1, 0, 0, 0, 0, 1) * map;
}

Homography moved(const Homography& map, cv::Point2d by) {
  return Homography(1, 0, by.x, 0, 1, by.y, 0, 0, 1) * map;
}

std::optional<cv::Point2d> project(const Homography& map, cv::Point2d point) {
  const cv::Vec3d at = map * cv::Vec3d(point.x, point.y, 1);
  if (at[2] < smallest_depth) return std::nullopt;
  return cv::Point2d(at[0] / at[2], at[1] / at[2]);
}

std::vector<cv::Point2d> project(const Homography& map, std::span<const cv::Point2d> polygon,
                                 const cv::Rect2d& part) {
  std::vector<cv::Vec3d> points, scratch;
  for (const cv::Point2d& point : polygon) points.push_back(map * cv::Vec3d(point.x, point.y, 1));
  // The first, w ≥ smallest_depth, is no plane through the origin: it is applied to (x, y, w
  // − smallest_depth).
  for (cv::Vec3d& point : points) point[2] -= smallest_depth;
  clip(points, {0, 0, 1}, scratch);
  for (cv::Vec3d& point : points) point[2] += smallest_depth;
  for (const cv::Vec3d& plane : {cv::Vec3d(1, 0, -part.x), cv::Vec3d(-1, 0, part.x + part.width),
                                 cv::Vec3d(0, 1, -part.y), cv::Vec3d(0, -1, part.y + part.height)})
    clip(points, plane, scratch);
  std::vector<cv::Point2d> seen;
  for (const cv::Vec3d& point : points) seen.emplace_back(point[0] / point[2], point[1] / point[2]);
  return seen;
}

std::vector<cv::Point2d> corners_of(const cv::Rect2d& rectangle) {
  const cv::Point2d a = rectangle.tl(), b = rectangle.br();
  return {a, {b.x, a.y}, b, {a.x, b.y}};
}

double area_of(std::span<const cv::Point2d> polygon) {
  double twice = 0;
  for (size_t i = 0; i < polygon.size(); ++i) twice += polygon[i].cross(polygon[(i + 1) % polygon.size()]);
  return std::abs(twice) / 2;
}

cv::Rect2d bounds_of(std::span<const cv::Point2d> points) {
  if (points.empty()) return {};
  cv::Point2d low = points[0], high = points[0];
  for (const cv::Point2d& point : points) {
    low = {std::min(low.x, point.x), std::min(low.y, point.y)};
    high = {std::max(high.x, point.x), std::max(high.y, point.y)};
  }
  return {low, high};
}

}  // namespace brightnet
