// A device that decodes JPEG files for threads of the host (loader.decode).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace brightnet {

/// A JPEG image and the part of it that is decoded. The sizes are in pixels, and the part lies in the image.
struct JpegPart {
  int width = 0, height = 0;  ///< size of the whole image, as the file's header has it
  int channels = 3;           ///< 3: RGB; 1: luma
  int left = 0, top = 0, part_width = 0, part_height = 0;
  std::string_view name = {};  ///< name of the file, for errors
};

class JpegDecoder {
 public:
  /// Pixels of the largest image that it takes: full HD is one. So its memory is bounded, by a size and not by what a run
  /// comes across.
  static constexpr int64_t most_pixels = int64_t{1} << 21;

  virtual ~JpegDecoder() = default;
  /// Decodes a file into `pixels`, row after row of the part. False where the device does not take the file, which depends
  /// on the file alone. Callable from any thread; waits for no work of the training's. Throws DeviceError, with the name of
  /// the file, when the device fails at it.
  virtual bool decode(std::span<const uint8_t> file, const JpegPart& part, uint8_t* pixels) = 0;
};

}  // namespace brightnet
