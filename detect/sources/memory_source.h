// Images in the memory of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "detect/sources/frame_source.h"

namespace brightnet {

/// 8-bit pixels, interleaved, row by row from the top.
struct PixelImage {
  const uint8_t* pixels = nullptr;
  int height = 0, width = 0;
  size_t stride = 0;  ///< bytes from row to row
  int channels = 3;   ///< 3: RGB; 1: grey
  bool bgr = false;   ///< three channels are in the order blue, green, red
};

/// Reads the images where they are. The resize reads the caller's pixels; only color images for a network of grey images
/// are converted before it. The memory must stay unchanged while frames of the source are in use. The frames come in
/// order and have no names.
class MemorySource : public FrameSource {
 public:
  /// Throws InputError for an image without pixels, of 2 or 4 channels, or with rows shorter than its width.
  explicit MemorySource(std::span<const PixelImage> images);

  bool next(Frame& frame) override;
  void decode(Frame&, const InputFit&) const override {}

 private:
  std::span<const PixelImage> images_;
  size_t at_ = 0;
};

}  // namespace brightnet
