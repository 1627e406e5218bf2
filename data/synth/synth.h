// A synthetic detection data set: geometric shapes of several classes over textured backgrounds, at several
// scales, rotated, stretched, shaded, overlapping and noisy. It is for a first training run without a
// download and for tests with exactly known ground truth. A network must learn shape to score on it: colour,
// size and position are independent of the class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"

namespace brightnet {

struct SynthOptions {
  uint64_t seed = 0;
  int train_images = 640;
  int val_images = 160;
  int size = 256;  ///< width in pixels, 32 to 4096; the height too unless that is given
  int height = 0;  ///< height in pixels; 0: that of the width
  /// The typical diameter of the shapes in pixels. They have 0.7 to 1.4 times this, small ones as likely as large ones.
  /// With 0 they have a ninth to a half of the image.
  int object_size = 0;
  int classes = 6;      ///< the first so many of synth_class_names(), 1 to 6
  int min_objects = 1;  ///< the fewest objects in an image, from 0
  /// The most objects in an image, from min_objects to 1000; there are fewer where they would hide each other.
  int max_objects = 6;

  cv::Size image_size() const { return {size, height > 0 ? height : size}; }
  /// Throws InputError for a value outside its range.
  void check() const;
};

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

/// Writes a data set in YOLO format:
///   FOLDER/images/{train,val}/000000.jpg ...   FOLDER/labels/{train,val}/000000.txt ...   FOLDER/data.yaml
/// data.yaml is what the `data:` section of a configuration says about it. The folder is created atomically.
/// A folder that this function created earlier is replaced. Throws InputError for another folder that is not
/// empty, for one with added files, and for options outside their ranges.
void make_synthetic_dataset(const SynthOptions& options, const std::filesystem::path& folder);

}  // namespace brightnet
