// A video for tests: frames that can be told apart by their colour.
#pragma once

#include <filesystem>

#include <gtest/gtest.h>
#include <opencv2/videoio.hpp>

namespace brightnet::testing {

/// How red frame `number` is, in [0, 255].
inline int clip_red(int number) {
  return 20 + 30 * number % 220;
}

/// Writes Motion JPEG, which OpenCV can write and read without any codec of the system.
inline void write_clip(const std::filesystem::path& file, int frames, double frames_per_second = 25,
                       cv::Size size = {64, 48}) {
  cv::VideoWriter writer(file.string(), cv::CAP_OPENCV_MJPEG, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'),
                         frames_per_second, size);
  ASSERT_TRUE(writer.isOpened());
  for (int i = 0; i < frames; ++i) {
    cv::Mat frame(size, CV_8UC3, cv::Scalar(60, 90, clip_red(i)));
    writer.write(frame);
  }
}

}  // namespace brightnet::testing
