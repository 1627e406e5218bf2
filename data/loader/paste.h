// Copy-paste (Ghiasi et al. 2021) for boxes: objects of other images, cut out with their boxes and blended in
// where they hide no other object.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/box.h"
#include "core/input_size.h"
#include "core/random.h"
#include "data/augment/options.h"
#include "data/dataset.h"
#include "data/loader/placed_image.h"

namespace brightnet {

class ObjectPaster {
 public:
  ObjectPaster(const Dataset& dataset, const AugmentOptions& options);

  /// With the probability copy_paste, pastes 1 to copy_paste_count objects of random images into a sample of this size,
  /// each with the crop's scale, flip and colours of its own draw_image(). An object that is larger than half
  /// of the input, or that fits nowhere, is left out. The boxes of other objects in the pasted box come with
  /// it, clipped to it by min_visible.
  /// `nearby`: the images to take them from; empty: all that have objects.
  void operator()(Random& random, std::span<const uint32_t> nearby, const InputSize& size,
                  std::vector<PlacedImage>& images, std::vector<Truth>& truths) const;

 private:
  void paste_one(Random& random, int image, const InputSize& size, std::vector<PlacedImage>& images,
                 std::vector<Truth>& truths) const;

  const Dataset& dataset_;
  const AugmentOptions options_;
  std::vector<uint32_t> with_objects_;  // indices of the images that have objects
};

}  // namespace brightnet
