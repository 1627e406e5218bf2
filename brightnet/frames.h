// Pictures from files, videos, cameras and streams, decoded in memory one after the other; and pictures with boxes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "brightnet/detector.h"
#include "brightnet/public.h"
#include "brightnet/weights.h"

namespace brightnet {

struct FrameOptions {
  int frames = 0;                     ///< most frames of a video, camera or stream; 0: all
  int every = 1;                      ///< takes only every Nth frame
  uint64_t max_pixels = 200'000'000;  ///< largest image file that is decoded; a larger one cannot be read
};

/// 8-bit RGB, row by row from the top without padding. The memory lives as long as a copy of the pointer does.
struct Picture {
  std::shared_ptr<uint8_t> pixels = {};
  int height = 0, width = 0;
  std::string file = {};  ///< the image's or video's path, "camera 0", or a stream's address
  int64_t number = -1;    ///< the frame's number in its video, from 0; -1 for an image by itself

  Image image() const { return {.pixels = pixels.get(), .height = height, .width = width}; }
};

/// The images and frames that `detect` sees of a source, in its order. Not for use by several threads at a time.
/// One that was moved from can be assigned to and destroyed, and nothing else.
class BRIGHTNET_PUBLIC Frames {
 public:
  /// Opens an image, a video, a folder, a pattern, a list (.txt), a camera's number or a stream's address. Images are decoded
  /// as the network of these weights takes them, since imported ones expect darknet's decoder. Throws InputError when there is
  /// nothing in the source, and for options that have no effect on it.
  Frames(const Weights& weights, const std::string& source, const FrameOptions& options = {});
  ~Frames();
  Frames(Frames&&) noexcept;
  Frames& operator=(Frames&&) noexcept;

  /// Whether the source names an image file itself; a folder, a pattern and a list do not, whatever they contain.
  bool is_image() const;
  /// Whether it is a camera or a stream, where waiting for several frames at once would add latency.
  bool live() const;
  /// The next image or frame, without pixels after the last. Files that cannot be read are skipped with a warning in the log; when
  /// is_image(), InputError is thrown.
  Picture next();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// A copy of the image with boxes, names (by class id) and scores, as `brightnet detect` draws them.
BRIGHTNET_PUBLIC Picture draw_objects(const Image& image, std::span<const DetectedObject> objects,
                                      const std::vector<std::string>& classes);

/// The bytes of a PNG file.
BRIGHTNET_PUBLIC std::vector<uint8_t> encode_png(const Image& image);

}  // namespace brightnet
