#include "data/augment/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace brightnet {
namespace {

/// The input whose pixels `perspective` is relative to.
constexpr double perspective_side = 640;

double radians(float degrees) {
  return degrees * std::numbers::pi / 180;
}

// A rotation by `count` quarter turns. Its elements are exactly zero or ±1, so that placement_of() recognizes that
// the map keeps the directions of the axes.
Homography quarter_turn(int count) {
  constexpr int cosine[] = {1, 0, -1, 0}, sine[] = {0, 1, 0, -1};
  const double c = cosine[count], s = sine[count];
  return {c, -s, 0, s, c, 0, 0, 0, 1};
}

bool distorts(const GeometryDraw& draw) {
  return draw.angle != 0 || draw.gain != 1 || draw.shear_x != 0 || draw.shear_y != 0 ||
         draw.perspective_x != 0 || draw.perspective_y != 0;
}

// Factors on x and y that make an input, turned by 90 degrees, what a turned image would have been fitted to.
std::pair<double, double> fit_of_turned(cv::Size image, const InputSize& size, bool letterbox) {
  const double w = size.width, h = size.height;
  if (!letterbox) return {w / h, h / w};
  const double upright = std::min(w / image.width, h / image.height);
  const double turned = std::min(w / image.height, h / image.width);
  return {turned / upright, turned / upright};
}

// Perspective, then rotation and scale, then shear, about the origin, in an image that is `stretch`² times as wide as
// it should be for its height.
Homography distortion(const GeometryDraw& draw, double stretch, const InputSize& size) {
  const Homography perspective(1, 0, 0, 0, 1, 0, draw.perspective_x * (perspective_side / size.width),
                               draw.perspective_y * (perspective_side / size.height), 1);
  const double angle = radians(draw.angle), c = draw.gain * std::cos(angle), s = draw.gain * std::sin(angle);
  const Homography turn(c, -s, 0, s, c, 0, 0, 0, 1);
  const Homography shear(1, std::tan(radians(draw.shear_x)), 0, std::tan(radians(draw.shear_y)), 1, 0, 0, 0,
                         1);
  const Homography even(1 / stretch, 0, 0, 0, stretch, 0, 0, 0, 1);
  const Homography uneven(stretch, 0, 0, 0, 1 / stretch, 0, 0, 0, 1);
  return uneven * shear * turn * perspective * even;
}

}  // namespace

bool draws_geometry(const AugmentOptions& options) {
  return options.vertical_flip > 0 || options.quarter_turns > 0 || options.rotate > 0 || options.scale > 0 ||
         options.translate > 0 || options.shear > 0 || options.perspective > 0;
}

GeometryDraw draw_geometry(Random& random, const AugmentOptions& options) {
  const auto around = [&](float limit) { return random.uniform(-limit, limit); };
  GeometryDraw draw;
  draw.vertical_flip = random.chance(options.vertical_flip);
  const bool turns = random.chance(options.quarter_turns);
  const int turned = 1 + static_cast<int>(random.below(3));
  draw.quarter_turns = turns ? turned : 0;
  draw.angle = around(options.rotate);
  draw.gain = 1 + around(options.scale);
  draw.translate_x = around(options.translate);
  draw.translate_y = around(options.translate);
  draw.shear_x = around(options.shear);
  draw.shear_y = around(options.shear);
  draw.perspective_x = around(options.perspective);
  draw.perspective_y = around(options.perspective);
  return draw;
}

Homography apply_geometry(const Placement& placement, const GeometryDraw& draw, cv::Size image,
                          const InputSize& size, bool letterbox) {
  const cv::Point2d half(size.width / 2.0, size.height / 2.0);
  Homography map = moved(homography_of(placement), -half);
  if (draw.vertical_flip) map = Homography(1, 0, 0, 0, -1, 0, 0, 0, 1) * map;
  map = quarter_turn(draw.quarter_turns) * map;
  double stretch = std::sqrt(std::abs(static_cast<double>(placement.scale_x) / placement.scale_y));
  if (draw.quarter_turns % 2 == 1) {
    stretch = 1 / stretch;  // the other way round after an odd number of quarter turns
    if (!size.square()) {
      const auto [x, y] = fit_of_turned(image, size, letterbox);
      map = Homography(x, 0, 0, 0, y, 0, 0, 0, 1) * map;
      stretch *= std::sqrt(x / y);
    }
  }
  if (distorts(draw)) map = distortion(draw, stretch, size) * map;
  return moved(map, half + cv::Point2d(draw.translate_x * size.width, draw.translate_y * size.height));
}

float largest_enlargement(const AugmentOptions& options) {
  // At the input's corner a perspective of p makes things 1 / (1 − 2 · 320 p) times as large, and its
  // derivative is the square of that.
  const float depth = 1 - static_cast<float>(perspective_side) * options.perspective;
  const float shear = 1 + static_cast<float>(std::tan(radians(options.shear)));
  return (1 + options.scale) * shear / (depth * depth);
}

}  // namespace brightnet
