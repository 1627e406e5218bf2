// The input of `detect`: image files, videos, cameras and streams.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace brightnet {

/// A video, camera or stream while it is read.
struct Clip {
  std::string name;               ///< fit for a file's name, and unique in the source
  double frames_per_second = 25;  ///< of the frames handed out
};

/// One picture.
struct Frame {
  std::string file;                  ///< the image's or video's path, "camera 0", or a stream's address
  std::string name;                  ///< fit for a file's name, and unique in the source
  std::shared_ptr<const Clip> clip;  ///< what it is a frame of; nullptr: an image by itself
  int64_t number = -1;               ///< of the frame in its clip, from 0; −1 for an image by itself
  cv::Mat image;  ///< 8-bit RGB once decoded; what a clip hands out is BGR until then; empty after a failure
  std::string failure;  ///< why there is no image; one clause
};

class Source {
 public:
  virtual ~Source() = default;

  /// The next picture, in order; false after the last. An image file is only named here, so that its pixels
  /// can be read by another thread; a clip's frames, which follow from each other, are read. A file that
  /// turns out to be no video is a frame with a failure.
  virtual bool next(Frame& frame) = 0;

  /// The number of frames; −1 when unknown.
  virtual int64_t count() const = 0;
  /// True for a camera or a stream, where latency matters.
  virtual bool live() const = 0;
  /// Its files, in order, as they were named.
  virtual const std::vector<std::filesystem::path>& files() const = 0;
  /// Frame::name, or for a video Clip::name, of each file.
  virtual const std::vector<std::string>& names() const = 0;
};

struct SourceOptions {
  int64_t frames = 0;  ///< of each video, camera or stream at most; 0: all
  int every = 1;       ///< of a video, camera or stream every such frame, from the first on
};

/// What `text` means, tried in this order: a file or folder of that name (a folder's images and videos in the
/// order of their names, without its subfolders; a .txt is a list of images and videos, one a line, which
/// start at the current folder or at the list's), a camera's number, a stream's address (with "://"), a
/// pattern of file names (`*`, `?`, `[…]`). Throws InputError when it means nothing, when there is nothing in
/// it, or when the only video, camera or stream cannot be opened.
std::unique_ptr<Source> open_source(const std::string& text, const SourceOptions& options = {});

/// True for a name that ends, in either case, as a video does (.mp4 .avi .mkv …).
bool is_video_name(const std::filesystem::path& file);

}  // namespace brightnet
