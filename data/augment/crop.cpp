#include "data/augment/crop.h"

#include <algorithm>
#include <cmath>

#include "data/augment/geometry.h"

namespace brightnet {
namespace {

float draw_factor(Random& random, float limit) {
  const float factor = random.uniform(1.0f, limit);
  return random.chance(0.5f) ? factor : 1 / factor;
}

}  // namespace

ColorChange draw_color(Random& random, const AugmentOptions& options) {
  ColorChange change;
  change.hue = random.uniform(-options.hue, options.hue);
  change.saturation = draw_factor(random, options.saturation);
  change.exposure = draw_factor(random, options.exposure);
  return change;
}

ImageDraw draw_image(Random& random, const AugmentOptions& options) {
  ImageDraw draw;
  const float jitter = options.jitter;
  for (float* margin : {&draw.left, &draw.right, &draw.top, &draw.bottom})
    *margin = random.uniform(-jitter, jitter);
  const float zoom = std::pow(options.resize, random.uniform(-1, 1));
  const float cut_x = (1 - draw.left - draw.right) * (1 - 1 / zoom) / 2;
  const float cut_y = (1 - draw.top - draw.bottom) * (1 - 1 / zoom) / 2;
  draw.left += cut_x;
  draw.right += cut_x;
  draw.top += cut_y;
  draw.bottom += cut_y;
  draw.flip = random.chance(options.flip);
  draw.color = draw_color(random, options);
  return draw;
}

float smallest_crop(const AugmentOptions& options) {
  return (1 - 2 * options.jitter) / options.resize / largest_enlargement(options);
}

Placement place_crop(const ImageDraw& draw, int image_width, int image_height, const InputSize& size,
                     bool letterbox) {
  const float image_w = image_width, image_h = image_height;
  const float width = size.width, height = size.height;
  const float base_w = letterbox ? std::max(image_w, image_h * (width / height)) : image_w;
  const float base_h = letterbox ? std::max(image_h, image_w * (height / width)) : image_h;
  const float left = (image_w - base_w) / 2 + draw.left * base_w;
  const float top = (image_h - base_h) / 2 + draw.top * base_h;
  Placement placement;
  placement.scale_x = width / ((1 - draw.left - draw.right) * base_w);
  placement.scale_y = height / ((1 - draw.top - draw.bottom) * base_h);
  placement.offset_x = -left * placement.scale_x;
  placement.offset_y = -top * placement.scale_y;
  if (draw.flip) {
    placement.scale_x = -placement.scale_x;
    placement.offset_x = width - placement.offset_x;
  }
  return placement;
}

}  // namespace brightnet
