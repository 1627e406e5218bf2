// Copy-paste (Ghiasi et al. 2021) for boxes: objects of other images, cut out with their boxes and blended in
// where they hide no other object.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/box.h"
#include "core/random.h"
#include "data/augment/options.h"
#include "data/dataset.h"
#include "data/loader/paint.h"

namespace brightnet {

/// Keeps its workspace, so each thread needs its own.
class ObjectPaster {
 public:
  ObjectPaster(const Dataset& dataset, const AugmentOptions& options, Painter& painter);

  /// With the probability copy_paste, pastes 1 to copy_paste_count objects of random images into a sample,
  /// each with the crop's scale, flip and colours of its own draw_image(). An object that is larger than half
  /// of the input, or that fits nowhere, is left out. The boxes of other objects in the pasted box come with
  /// it, clipped to it by min_visible.
  /// `nearby`: the images to take them from; empty: all that have objects.
  void operator()(Random& random, std::span<const uint32_t> nearby, const PixelBlock& out,
                  std::vector<Truth>& truths);

 private:
  void paste_one(Random& random, int image, const PixelBlock& out, std::vector<Truth>& truths);
  void blend(int image, const Placement& placement, const cv::Rect2f& box, const ColorChange& color,
             const PixelBlock& out);

  const Dataset& dataset_;
  const AugmentOptions options_;
  Painter& painter_;
  std::vector<int> with_objects_;  // indices of the images that have objects
  std::vector<uint8_t> patch_;
};

}  // namespace brightnet
