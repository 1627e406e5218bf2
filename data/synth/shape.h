// The shapes of synthetic images: the outline of each class and its pixel coverage.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

#include "core/random.h"

namespace brightnet {

using Contour = std::vector<cv::Point2f>;

/// The outline of a class (an index of synth_class_names()) with circumscribed radius 1; a second contour is
/// a hole.
std::vector<Contour> outline(int class_id, Random& random);
/// Stretches, turns and moves contours into the image.
void place(std::vector<Contour>& contours, cv::Point2f centre, float radius, float stretch, float angle);
cv::Rect2f extent(const Contour& contour);
/// How much of each pixel the contours cover, 0 to 1 (CV_32F), in `frame` of the image.
cv::Mat coverage(const std::vector<Contour>& contours, cv::Rect frame);

}  // namespace brightnet
