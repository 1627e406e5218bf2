// A synthetic detection data set: geometric shapes of several classes over textured backgrounds, at several
// scales, rotated, stretched, shaded, overlapping and noisy. It is for a first training run without a
// download and for tests with exactly known ground truth. A network must learn shape to score on it: colour,
// size and position are independent of the class.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "brightnet/data.h"
#include "data/dataset.h"

namespace brightnet {

/// The size of the images.
cv::Size image_size(const SynthOptions& options);
/// Throws InputError for a value outside its range.
void check(const SynthOptions& options);

/// The names of all classes: circle, square, triangle, star, cross, ring.
const std::vector<std::string>& synth_class_names();

/// One generated image: 8-bit RGB, and its objects. A box is the extent of the whole shape, cut at the
/// image's border; at least half of every shape is left visible by those drawn over it.
struct SynthImage {
  cv::Mat pixels;
  std::vector<Annotation> annotations;
};

/// Draws image `index` of a split. The same arguments give the same image and boxes, whatever else is
/// drawn. Throws InputError for options outside their ranges.
SynthImage draw_synthetic_image(const SynthOptions& options, Split split, int index);

}  // namespace brightnet
