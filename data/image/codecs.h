// OpenCV's codecs of images and videos, loaded with the first file that needs them. Their libraries have 230 others behind them
// (GDAL, FFmpeg, GStreamer), which take a fifth of a second to load: ten times as long as all else of the program. JPEG needs
// none of them (data/image/jpeg.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>

#include "core/shared_library.h"

namespace brightnet {

/// The library of a module that belongs to the OpenCV in use: "highgui" is libopencv_highgui.so.406, which lies beside
/// libopencv_core.so.406 where it is installed.
SharedLibrary opencv_library(const std::string& module);

/// cv::imdecode, cv::imencode and cv::haveImageWriter. All of these throw InputError when the library cannot be loaded.
cv::Mat decode_image(cv::InputArray bytes, int flags);
bool encode_image(const std::string& ending, cv::InputArray image, std::vector<uint8_t>& bytes,
                  const std::vector<int>& parameters = {});
bool can_encode_image(const std::string& file);
/// Not opened yet.
std::unique_ptr<cv::VideoCapture> make_video_capture();
std::unique_ptr<cv::VideoWriter> make_video_writer();

/// The number of a codec of videos: cv::VideoWriter::fourcc of "MJPG".
constexpr int codec_code(const char (&name)[5]) {
  return name[0] | name[1] << 8 | name[2] << 16 | name[3] << 24;
}

}  // namespace brightnet
