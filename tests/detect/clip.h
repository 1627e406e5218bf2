// A video for tests: frames that can be told apart by their colour.
#pragma once

#include <filesystem>

#include <gtest/gtest.h>

#include "data/image/codecs.h"

namespace brightnet::testing {

/// How red frame `number` is, in [0, 255].
inline int clip_red(int number) {
  return 20 + 30 * number % 220;
}

/// Writes Motion JPEG, which OpenCV can write and read whatever it was built with.
inline void write_clip(const std::filesystem::path& file, int frames, double frames_per_second = 25,
                       cv::Size size = {64, 48}) {
  const auto writer = make_video_writer();
  ASSERT_TRUE(writer->open(file.string(), codec_code("MJPG"), frames_per_second, size));
  for (int i = 0; i < frames; ++i) {
    cv::Mat frame(size, CV_8UC3, cv::Scalar(60, 90, clip_red(i)));
    writer->write(frame);
  }
}

}  // namespace brightnet::testing
