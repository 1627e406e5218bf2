// Reads images of a data set for parts of a network input, and paints them there.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "data/image/homography.h"
#include "data/image/resize_filter.h"
#include "data/image/warp_filter.h"
#include "data/loader/image_cache.h"
#include "data/loader/placed_image.h"

namespace brightnet {

/// A part of a block of pixels, as a block.
PixelBlock block(const PixelBlock& whole, const cv::Rect& part);

/// Fills the block with fill_value.
void fill(const PixelBlock& out);

/// An image as a part of an input shows it: what of it is read, and how that is resampled.
struct SampledImage {
  Sampling sampling = Sampling::straight;
  cv::Size target;  ///< size after the resize: the part's, its sides exchanged if turned, or the warp's input
  cv::Rect shown;   ///< the target's pixels that show the image
  Region region;    ///< the part of the decoded image that `shown` shows, in its pixels
  Homography to_image;  ///< warping: the part's pixels to those of the decoded image, or of the target
  cv::Rect2d bounds;    ///< warping: the image's rectangle, in the same pixels
  ImageWindow window;   ///< the part of the decoded image that is read for this; empty where none is shown

  size_t window_bytes() const { return window.pixels.total() * window.pixels.elemSize(); }
};

/// Reads images and paints them into blocks with the cache's number of channels. Keeps its workspace, so each thread needs
/// its own.
class Painter {
 public:
  Painter(const Dataset& dataset, ImageCache& cache) : dataset_(dataset), cache_(cache) {}

  /// Reads what `placed.part` of the input shows of an image. Throws what ImageCache::get throws.
  SampledImage read(const PlacedImage& placed);
  /// Paints it over what is there: resampled, with fill_value around it. A map that keeps the directions of the axes, or
  /// exchanges them, is resized, any other is warped.
  void paint(const PlacedImage& placed, const SampledImage& read, const PixelBlock& out);

 private:
  SampledImage read_straight(int image, const Placement& placement, const cv::Rect& part);
  SampledImage read_warped(int image, const Homography& map, const cv::Rect& part);
  ImageWindow read_window(int image, const cv::Rect2d& needed);
  void resample(const SampledImage& image, const ColorChange& color, const PixelBlock& out);
  void resize(const SampledImage& image, const ColorChange& color, const PixelBlock& out);

  const Dataset& dataset_;
  ImageCache& cache_;
  ResizeFilter resize_;
  WarpFilter warp_;
  std::vector<uint8_t> between_;  // an image that is transposed or warped
  std::vector<uint8_t> own_;      // one that is blended with what is there
};

}  // namespace brightnet
