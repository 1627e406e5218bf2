// Where an image lies in a network input when it may be turned, sheared or seen in perspective.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <opencv2/core.hpp>

#include "data/image/placement.h"

namespace brightnet {

/// (x, y) of the image goes to (X / W, Y / W) of the input, with (X, Y, W) = matrix · (x, y, 1), in pixels.
/// What has a W that is not above smallest_depth lies behind the observer and is not shown.
using Homography = cv::Matx33d;

constexpr double smallest_depth = 1e-2;

/// The placement as a homography, exactly the same map.
Homography homography_of(const Placement& placement);

/// The map as a placement where it keeps the directions of the axes; nullopt where it turns or distorts.
std::optional<Placement> placement_of(const Homography& map);

/// The map followed by an exchange of x and y.
Homography transposed(const Homography& map);

/// The map followed by a shift.
Homography moved(const Homography& map, cv::Point2d by);

/// The image of a point; nullopt behind the observer.
std::optional<cv::Point2d> project(const Homography& map, cv::Point2d point);

/// The image of a convex polygon, clipped to `part`: again a convex polygon, empty when nothing is left.
std::vector<cv::Point2d> project(const Homography& map, std::span<const cv::Point2d> polygon,
                                 const cv::Rect2d& part);

/// The corners in the order upper left, upper right, lower right, lower left.
std::vector<cv::Point2d> corners_of(const cv::Rect2d& rectangle);

/// The area of a polygon that does not cross itself; 0 for an empty one.
double area_of(std::span<const cv::Point2d> polygon);

/// The smallest rectangle around points.
cv::Rect2d bounds_of(std::span<const cv::Point2d> points);

}  // namespace brightnet
