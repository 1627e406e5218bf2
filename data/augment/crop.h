// The random parameters of one image (jittered crop, zoom, flip, colours) and the placement of the crop.
#pragma once

#include "core/input_size.h"
#include "core/random.h"
#include "data/augment/options.h"
#include "data/image/color.h"
#include "data/image/placement.h"

namespace brightnet {

/// The random parameters of one image. The margins are cut off (negative: added) on each side, as fractions
/// of the image's width and height, like darknet's pleft, pright, ptop and pbot.
struct ImageDraw {
  float left = 0, right = 0, top = 0, bottom = 0;
  bool flip = false;
  ColorChange color;
};

/// The hue uniform in ±hue; saturation and exposure uniform in [1, limit], and inverted half of the time.
ColorChange draw_color(Random& random, const AugmentOptions& options);

/// Margins uniform in ±jitter, independent (so the aspect ratio changes too); then the crop is scaled about
/// its centre by a factor between 1/resize and resize, log-uniform.
ImageDraw draw_image(Random& random, const AugmentOptions& options);

/// The side of the smallest crop that draw_image() and draw_geometry() can draw together, as a fraction of
/// the image's.
float smallest_crop(const AugmentOptions& options);

/// Puts the crop onto the input's pixels. With `letterbox` the margins are those of the image extended to the
/// input's ratio of width and height.
Placement place_crop(const ImageDraw& draw, int image_width, int image_height, const InputSize& size,
                     bool letterbox);

}  // namespace brightnet
