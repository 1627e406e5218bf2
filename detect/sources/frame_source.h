// Pictures on their way into a network: what a frame is, and where frames come from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "data/image/placement.h"
#include "data/image/read_image.h"
#include "data/image/resize_filter.h"

namespace brightnet {

/// A video, camera or stream while it is read.
struct Clip {
  std::string name;               ///< name that is fit for a file, and unique in the source
  double frames_per_second = 25;  ///< rate of the frames handed out
};

/// One picture.
struct Frame {
  std::string file;                  ///< the image's or video's path, "camera 0", or a stream's address
  std::string name;                  ///< name that is fit for a file, and unique in the source
  std::shared_ptr<const Clip> clip;  ///< the clip that it is a frame of; nullptr: an image by itself
  int64_t number = -1;               ///< number of the frame in its clip, from 0; −1 for an image by itself
  int64_t place = 0;  ///< its number among what the source hands out, from 1, failures too; 0: not known
  int record = -1;    ///< index in Dataset::images; −1 if it is not from a data set
  /// 8-bit once decoded, RGB or grey; what a clip hands out is BGR until then; empty after a failure.
  cv::Mat image;
  bool bgr = false;     ///< `image` is BGR also after decode(), because it is a caller's memory
  std::string failure;  ///< reason why there is no image; one clause
};

/// The pixels that become an input: a picture or a part of one, perhaps decoded at a smaller scale.
struct ShownPixels {
  cv::Mat pixels;  ///< 8-bit RGB, BGR or grey
  bool bgr = false;
  cv::Size size;  ///< size of the part at the picture's own scale, which decides its place in the input
  Region region;  ///< part of `pixels` that is resized: all of them, apart from rounding
};

class FrameSource {
 public:
  /// Opens frames of image files; one with more pixels is a frame with a failure.
  explicit FrameSource(uint64_t max_pixels = usual_max_pixels) : max_pixels_(max_pixels) {}
  virtual ~FrameSource() = default;

  /// The next picture, in order; false after the last. An image file is only named here, so that its pixels
  /// can be read by another thread; a clip's frames, which follow from each other, are read. A file that
  /// turns out to be no video is a frame with a failure. Never called by two threads at a time.
  virtual bool next(Frame& frame) = 0;
  /// True for a camera or a stream, where latency matters.
  virtual bool live() const { return false; }

  // Several threads call the functions below at the same time.

  /// Sets the frame's image or its failure. `fit` says which decoder is wanted. A source that needs every picture throws
  /// InputError instead of setting a failure.
  virtual void decode(Frame& frame, const InputFit& fit) const;
  /// Width and height of the picture, which are those that its boxes refer to. Before decode() they come from the file's
  /// header. nullopt when it is not an image.
  virtual std::optional<cv::Size> size(const Frame& frame) const;
  /// The pixels of a part of a frame after decode().
  virtual ShownPixels shown(const Frame& frame, const ImageTile& part, const InputFit& fit) const;

 private:
  uint64_t max_pixels_;
};

}  // namespace brightnet
