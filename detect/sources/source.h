// The input of `detect`: image files, videos, cameras and streams.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "detect/sources/frame_source.h"

namespace brightnet {

class Source : public FrameSource {
 public:
  using FrameSource::FrameSource;
  /// The number of frames; −1 when unknown.
  virtual int64_t count() const = 0;
  /// The source's files, in order, as they were named.
  virtual const std::vector<std::filesystem::path>& files() const = 0;
  /// Frame::name, or for a video Clip::name, of each file.
  virtual const std::vector<std::string>& names() const = 0;
};

struct SourceOptions {
  int64_t frames = 0;  ///< most frames taken of each video, camera or stream; 0: all
  int every = 1;       ///< step between frames taken of a video, camera or stream; the first is taken
  uint64_t max_pixels =
      usual_max_pixels;  ///< pixels of an image file, GIFs too, above which it is not decoded
};

/// Opens what `text` means, tried in this order: a file or folder of that name (a folder's images and videos
/// in the order of their names, without its subfolders; a .txt is a list of images and videos, one a line,
/// which start at the current folder or at the list's), a camera's number, a stream's address (with "://"), a
/// pattern of file names (`*`, `?`, `[…]`). Throws InputError when it means nothing, when there is nothing in
/// it, or when the only video, camera or stream cannot be opened.
std::unique_ptr<Source> open_source(const std::string& text, const SourceOptions& options = {});

/// Whether `text` means a camera or a stream, for which nothing is opened.
bool is_live_source(const std::string& text);

/// True for a name that ends, in either case, as a video does (.mp4 .avi .mkv …).
bool is_video_name(const std::filesystem::path& file);

}  // namespace brightnet
