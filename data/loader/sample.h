// Makes one training sample: its random parameters, pixels and boxes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <opencv2/core.hpp>

#include "core/box.h"
#include "core/input_size.h"
#include "core/random.h"
#include "data/augment/options.h"
#include "data/dataset.h"
#include "data/loader/image_cache.h"
#include "data/loader/paint.h"
#include "data/loader/paste.h"
#include "data/loader/picture_block.h"
#include "data/loader/placed_image.h"

namespace brightnet {

/// Identifies a sample: (seed, epoch, position) determine its random streams, the only randomness.
struct SampleName {
  uint64_t seed = 0, epoch = 0, position = 0;
  int image = 0;  ///< index of its first image; the others of a mosaic or mixup are drawn
  /// One whole image as an evaluation sees it but for its colours and turns: without mosaic, mixup, cutmix and
  /// copy_paste, and without jitter, resize, scale and translate.
  bool plain = false;
  std::span<const uint32_t> nearby = {};  ///< the images that others are drawn from; empty: all
};

/// How many images, and covers without one, a sample is put together from at most.
int most_placed_images(const AugmentOptions& options);

/// Makes samples in the caller's memory and keeps its own workspace, so each thread needs its own.
class SampleMaker {
 public:
  /// The samples have as many channels as the cache's images. Hue and saturation of grey ones are not changed.
  SampleMaker(const Dataset& dataset, const AugmentOptions& options, ImageCache& cache);

  /// Fills height × width × channels pixels and the objects in them.
  void make(const SampleName& name, const InputSize& size, uint8_t* pixels, std::vector<Truth>& truths);
  /// Makes picture number `picture` of the block, for a device to paint. Returns false where its images are
  /// more bytes than there is room for, or than cross the bus in reason: it is then painted here.
  bool make(const SampleName& name, const InputSize& size, PictureBlock& block, int picture,
            std::vector<Truth>& truths);

 private:
  // Each option has a random stream of its own, so that switching one off does not change what the others draw.
  struct Streams {
    Random choices, changes, geometry, pixels;
  };

  struct Drawn {
    Homography map;
    ColorChange color;
  };

  /// Draws the sample: `images_` and the objects.
  void draw(const SampleName& name, const InputSize& size, std::vector<Truth>& truths);
  Drawn draw_map(Streams& streams, int image, bool plain, const InputSize& size) const;
  void draw_picture(Streams& streams, const SampleName& name, const InputSize& size,
                    std::vector<Truth>& truths);
  void mix(Streams& streams, const SampleName& name, const InputSize& size, std::vector<Truth>& truths);
  void place(Streams& streams, int image, const Drawn& drawn, const cv::Rect& part, const InputSize& size,
             std::vector<Truth>& truths);
  int draw_other(Random& choices, const SampleName& name) const;

  const Dataset& dataset_;
  const AugmentOptions options_;
  const int channels_;
  const bool has_geometry_, has_pixels_;
  Painter painter_;
  const ObjectPaster paster_;
  std::vector<PlacedImage> images_;
  std::vector<SampledImage> read_;
  std::vector<Truth> second_truths_;
};

}  // namespace brightnet
