// Changes of an image's finished pixels: blur, noise, grey.
#pragma once

#include <span>

#include <opencv2/core.hpp>

#include "core/random.h"
#include "data/augment/options.h"
#include "data/image/resize_filter.h"

namespace brightnet {

/// The random parameters of one image.
struct PixelDraw {
  float blur = 0, noise = 0;  ///< standard deviations; 0: none
  bool grey = false;
  uint32_t noise_seed = 0;
  bool blurs_background = false;  ///< the blur spares the objects
};

/// Whether draw_pixels() can draw anything but the default.
bool draws_pixels(const AugmentOptions& options);

/// Takes the same number of numbers from the stream whatever the options are.
PixelDraw draw_pixels(Random& random, const AugmentOptions& options);

/// Blurs, then adds noise to each channel of each pixel, then replaces the colours by their luminance
/// (ITU-R BT.601), where it has any. Pixels outside the block are neither read nor changed. `objects`: rectangles
/// of the block that a blur of the background leaves sharp.
void change_pixels(const PixelDraw& draw, const PixelBlock& block, std::span<const cv::Rect> objects = {});

}  // namespace brightnet
