// Paints images of a data set into parts of a network input.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "data/image/homography.h"
#include "data/image/resize_filter.h"
#include "data/image/warp_filter.h"
#include "data/loader/image_cache.h"

namespace brightnet {

/// A part of a block of pixels, as a block.
PixelBlock block(const PixelBlock& whole, const cv::Rect& part);

/// Fills the block with fill_value.
void fill(const PixelBlock& out);

/// Paints blocks with the cache's number of channels. Keeps its workspace, so each thread needs its own.
class Painter {
 public:
  Painter(const Dataset& dataset, ImageCache& cache) : dataset_(dataset), cache_(cache) {}

  /// Fills `part` of the input with the image, resampled through the placement, and with fill_value around
  /// it. Throws what ImageCache::get throws.
  void operator()(int image, const Placement& placement, const cv::Rect& part, const ColorChange& color,
                  const PixelBlock& out);
  /// The same for any map. One that keeps the directions of the axes, or exchanges them, gives the pixels
  /// that the placement gives.
  void operator()(int image, const Homography& map, const cv::Rect& part, const ColorChange& color,
                  const PixelBlock& out);

 private:
  void paint_turned(int image, const Placement& placement, const cv::Rect& part, const ColorChange& color,
                    const PixelBlock& out);
  void paint_warped(int image, const Homography& map, const cv::Rect& part, const ColorChange& color,
                    const PixelBlock& out);

  const Dataset& dataset_;
  ImageCache& cache_;
  ResizeFilter resize_;
  WarpFilter warp_;
  std::vector<uint8_t> turned_, reduced_;
};

}  // namespace brightnet
