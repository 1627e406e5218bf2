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

namespace brightnet {

/// Identifies a sample: (seed, epoch, position) determine its random streams, the only randomness.
struct SampleName {
  uint64_t seed = 0, epoch = 0, position = 0;
  int image = 0;  ///< its first image; the others of a mosaic or mixup are drawn
  /// One whole image as an evaluation sees it but for its colours and turns: without mosaic, mixup, cutmix and
  /// copy_paste, and without jitter, resize, scale and translate.
  bool plain = false;
  std::span<const uint32_t> nearby = {};  ///< the images that others are drawn from; empty: all
};

/// Makes samples in the caller's memory and keeps its own workspace, so each thread needs its own.
class SampleMaker {
 public:
  /// The samples have as many channels as the cache's images. Hue and saturation of grey ones are not changed.
  SampleMaker(const Dataset& dataset, const AugmentOptions& options, ImageCache& cache);

  /// Fills height × width × channels pixels and the objects in them.
  void make(const SampleName& name, const InputSize& size, uint8_t* pixels, std::vector<Truth>& truths);

 private:
  // Each option has a random stream of its own, so that switching one off does not change what the others draw.
  struct Streams {
    Random choices, changes, geometry, pixels;
  };

  struct Drawn {
    Homography map;
    ColorChange color;
  };

  Drawn draw_map(Streams& streams, int image, bool plain, const InputSize& size) const;
  void draw_picture(Streams& streams, const SampleName& name, const PixelBlock& out,
                    std::vector<Truth>& truths);
  void mix(Streams& streams, const SampleName& name, const PixelBlock& out, std::vector<Truth>& truths);
  void paint(Streams& streams, int image, const Drawn& drawn, const cv::Rect& part, const PixelBlock& out,
             std::vector<Truth>& truths);
  int draw_other(Random& choices, const SampleName& name) const;

  const Dataset& dataset_;
  const AugmentOptions options_;
  const int channels_;
  const bool has_geometry_, has_pixels_;
  Painter painter_;
  ObjectPaster paster_;
  std::vector<uint8_t> second_;  // the other half of a mixup, or what cutmix cuts from
  std::vector<Truth> second_truths_;
};

}  // namespace brightnet
