// A batch on its way to a device that paints it (kernels/math/painting.h), in one block of memory.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/input_size.h"
#include "data/loader/paint.h"
#include "kernels/math/painting.h"

namespace brightnet {

/// Workers fill it at the same time, each a picture. How much room a picture may take does not depend on the others; where
/// its images lie does, and nothing else.
class PictureBlock {
 public:
  /// Begins a batch. `memory` has layout.bytes().
  void begin(std::byte* memory, const PictureLayout& layout);

  /// Whether a picture may have images of so many bytes together.
  bool has_room(size_t bytes) const { return bytes <= layout_.room; }
  /// Adds a stroke: an image, with the part of it that was read.
  void add(int picture, const PlacedImage& placed, const SampledImage& read);
  /// Adds the one stroke of a picture whose pixels, of this size, the caller paints.
  PixelBlock add_painted(int picture, const InputSize& size, int channels);

  /// The pictures with everything added since begin().
  Pictures pictures() const { return {memory_, layout_.pixels_at() + used_, layout_}; }

 private:
  Stroke& add_stroke(int picture);

  std::byte* memory_ = nullptr;
  PictureLayout layout_;
  std::atomic<size_t> used_ = 0;  // bytes of the images' pixels so far
};

}  // namespace brightnet
