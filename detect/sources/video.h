// Frames of videos, cameras and streams, through OpenCV's videoio.
#pragma once

#include <memory>
#include <optional>

#include <opencv2/videoio.hpp>

#include "detect/sources/source.h"

namespace brightnet {

/// A stream's address without a name and a password, which have no place in messages and answers; a text that
/// is no address stays as it is.
std::string without_credentials(const std::string& address);

class VideoCapture {
 public:
  /// Opens a video file, or the address of a stream. Throws InputError when it cannot be opened, and
  /// ImageError for a file that begins as an image, such as a GIF, of more than max_pixels.
  static VideoCapture of_file(const std::filesystem::path& file, const SourceOptions& options);
  static VideoCapture of_address(const std::string& address, const SourceOptions& options);
  /// Opens a camera. Throws InputError when there is no such camera, or it cannot be used.
  static VideoCapture of_camera(int device, const SourceOptions& options);

  /// The number of frames that it will hand out; −1 when that is unknown (cameras, live streams).
  int64_t count() const;
  double frames_per_second() const;

  /// The next frame (BGR), and its number in the video; nullopt at the end.
  std::optional<int64_t> read(cv::Mat& bgr);

  /// Says after the end "ends after 12 of 300 frames" when it promised clearly more; empty otherwise.
  std::string shortfall() const;
  /// Says after the end "gave no more frames after 12" when it ended by itself and had not said when it would; empty otherwise.
  std::string unannounced_end() const;

 private:
  VideoCapture(std::unique_ptr<cv::VideoCapture> capture, const SourceOptions& options);

  std::unique_ptr<cv::VideoCapture> capture_;
  SourceOptions options_;
  int64_t promised_;   // frames of the video by its own word; −1: none
  int64_t at_ = 0;     // the number of the next frame
  int64_t given_ = 0;  // frames handed out
  bool broke_off_ = false;
};

}  // namespace brightnet
