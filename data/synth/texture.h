// Colours and textures of synthetic images.
#pragma once

#include <opencv2/core.hpp>

#include "core/random.h"

namespace brightnet {

using Colour = cv::Vec3f;  ///< RGB, 0 to 255

Colour any_colour(Random& random);
/// The colour between a (t = 0) and b (t = 1).
Colour mixed(const Colour& a, const Colour& b, float t);

/// A scalar texture in [0, 1] (CV_32F): clouds, waves or tiles.
cv::Mat texture(Random& random, cv::Size size);
/// Two colours, mixed by a texture (CV_32FC3); `contrast` in [0, 1] says how far apart they are.
cv::Mat coloured(Random& random, const cv::Mat& field, const Colour& base, float contrast);

}  // namespace brightnet
