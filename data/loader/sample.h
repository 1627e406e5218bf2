// Makes one training sample: its random parameters, pixels and boxes.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "core/box.h"
#include "data/augment/crop.h"
#include "data/augment/options.h"
#include "data/dataset.h"
#include "data/image/resize_filter.h"
#include "data/loader/image_cache.h"

namespace brightnet {

/// Identifies a sample: (seed, epoch, position) determine its random streams, the only randomness.
struct SampleName {
  uint64_t seed = 0, epoch = 0, position = 0;
  int image = 0;       ///< its first image; the others of a mosaic or mixup are drawn
  bool plain = false;  ///< without mosaic and mixup
};

/// Makes samples in the caller's memory and keeps its own workspace. One per thread.
class SampleMaker {
 public:
  SampleMaker(const Dataset& dataset, const AugmentOptions& options, ImageCache& cache);

  /// Fills size × size RGB pixels and the objects in them.
  void make(const SampleName& name, int size, uint8_t* pixels, std::vector<Truth>& truths);

 private:
  void draw_picture(Random& choices, Random& changes, int image, bool plain, const PixelBlock& out,
                    std::vector<Truth>& truths);
  void paint(int image, const Placement& placement, const cv::Rect& part, const ColorChange& color,
             const PixelBlock& out, std::vector<Truth>& truths);

  const Dataset& dataset_;
  const AugmentOptions options_;
  ImageCache& cache_;
  ResizeFilter resize_;
  std::vector<uint8_t> second_;  // the other half of a mixup
};

/// Fills `part` of the input with the image, resampled through the placement, and with fill_value around it.
/// Shared with evaluation, which places the whole image. Throws what ImageCache::get throws.
void paint_image(ImageCache& cache, const Dataset& dataset, int image, const Placement& placement,
                 const cv::Rect& part, const ColorChange& color, const PixelBlock& out, ResizeFilter& resize);

}  // namespace brightnet
