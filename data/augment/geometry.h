// Turns, shears and perspective: what the crop of data/augment/crop.h does not do. Both are one map from the
// image to the input, so that the pixels are resampled once.
#pragma once

#include <opencv2/core.hpp>

#include "core/input_size.h"
#include "core/random.h"
#include "data/augment/options.h"
#include "data/image/homography.h"

namespace brightnet {

/// The random parameters of one image.
struct GeometryDraw {
  bool vertical_flip = false;
  int quarter_turns = 0;                      ///< clockwise, 0 … 3
  float angle = 0, shear_x = 0, shear_y = 0;  ///< degrees
  float gain = 1;
  float translate_x = 0, translate_y = 0;      ///< shift, fractions of the input
  float perspective_x = 0, perspective_y = 0;  ///< strength, in the unit of AugmentOptions::perspective
};

/// Whether draw_geometry() can draw anything but the default.
bool draws_geometry(const AugmentOptions& options);

/// Takes the same number of numbers from the stream whatever the options are, so that one of them does not
/// change what is drawn for the others.
GeometryDraw draw_geometry(Random& random, const AugmentOptions& options);

/// The placement of an image of `image` pixels, stretched or with a letterbox, followed by the flip, the quarter turns
/// and then, as in Ultralytics' random_perspective, perspective, rotation and scale, shear and translation, all about
/// the centre of the input.
///
/// Flip and quarter turns are those of the finished input: a landscape photograph becomes a portrait that
/// fills the input as any portrait does: with the crop's margins, stretched or letterboxed to an input that is no
/// square. Rotation, shear and perspective are those of the image: where the
/// placement stretches it, a circle becomes the same upright ellipse as without rotation, and so looks as it
/// will look in use.
Homography apply_geometry(const Placement& placement, const GeometryDraw& draw, cv::Size image,
                          const InputSize& size, bool letterbox);

/// The largest factor by which the drawn geometry can enlarge a part of the input.
float largest_enlargement(const AugmentOptions& options);

}  // namespace brightnet
