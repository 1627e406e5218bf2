// Image files for tests: drawn, encoded, with EXIF, and what reading them must end with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "data/image/read_image.h"

namespace brightnet::image_files {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

inline fs::path temporary(const std::string& name) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder =
      fs::path(::testing::TempDir()) / (std::string(test->test_suite_name()) + "_" + test->name());
  fs::create_directories(folder);
  return folder / name;
}

inline fs::path write(const std::string& name, const Bytes& bytes) {
  const fs::path file = temporary(name);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file;
}

inline Bytes encode(const std::string& extension, const cv::Mat& image,
                    const std::vector<int>& options = {}) {
  Bytes bytes;
  EXPECT_TRUE(cv::imencode(extension, image, bytes, options));
  return bytes;
}

// Smooth, so that JPEG keeps it, with no symmetry, so that every rotation and flip is another image. BGR.
inline cv::Mat gradient(int width, int height) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.at<cv::Vec3b>(y, x) = {static_cast<uint8_t>(40 + 150 * x / width),
                                   static_cast<uint8_t>(30 + 200 * y / height),
                                   static_cast<uint8_t>(220 - 100 * (x + y) / (width + height))};
    }
  }
  return image;
}

inline cv::Mat rgb(const cv::Mat& bgr) {
  cv::Mat out;
  cv::cvtColor(bgr, out, cv::COLOR_BGR2RGB);
  return out;
}

inline int largest_difference(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size() || a.type() != b.type()) return 256;
  return static_cast<int>(cv::norm(a, b, cv::NORM_INF));
}

// An EXIF block with one entry, the orientation.
inline Bytes exif(int orientation, bool little_endian) {
  const auto o = static_cast<uint8_t>(orientation);
  if (little_endian)
    return {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, o, 0, 0, 0, 0, 0, 0, 0};
  return {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, o, 0, 0, 0, 0, 0, 0};
}

inline Bytes with_jpeg_segment(Bytes jpeg, uint8_t code, const Bytes& payload) {
  const size_t length = payload.size() + 2;
  Bytes segment{0xFF, code, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)};
  segment.insert(segment.end(), payload.begin(), payload.end());
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

inline Bytes with_exif(const Bytes& jpeg, int orientation, bool little_endian) {
  Bytes payload{'E', 'x', 'i', 'f', 0, 0};
  const Bytes block = exif(orientation, little_endian);
  payload.insert(payload.end(), block.begin(), block.end());
  return with_jpeg_segment(jpeg, 0xE1, payload);
}

/// PNG's checksum (ISO 3309).
inline uint32_t crc32(const Bytes& bytes) {
  uint32_t crc = ~0U;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

/// With an eXIf chunk between its header and its pixels.
inline Bytes with_png_exif(Bytes png, const Bytes& block) {
  Bytes chunk{0, 0, 0, static_cast<uint8_t>(block.size()), 'e', 'X', 'I', 'f'};
  chunk.insert(chunk.end(), block.begin(), block.end());
  const uint32_t checksum = crc32({chunk.begin() + 4, chunk.end()});
  for (const int shift : {24, 16, 8, 0}) chunk.push_back(static_cast<uint8_t>(checksum >> shift));
  png.insert(png.begin() + 33, chunk.begin(), chunk.end());
  return png;
}

/// A simple WebP of this size (at most 256 a side) as an extended one with EXIF behind its pixels.
inline Bytes with_webp_exif(const Bytes& simple, cv::Size size, const Bytes& block) {
  Bytes extended{'R', 'I', 'F', 'F', 0,  0, 0, 0, 'W', 'E', 'B', 'P',
                 'V', 'P', '8', 'X', 10, 0, 0, 0, 8,   0,   0,   0};
  for (const int side : {size.width, size.height})
    extended.insert(extended.end(), {static_cast<uint8_t>(side - 1), 0, 0});
  extended.insert(extended.end(), simple.begin() + 12, simple.end());
  extended.insert(extended.end(), {'E', 'X', 'I', 'F', static_cast<uint8_t>(block.size()), 0, 0, 0});
  extended.insert(extended.end(), block.begin(), block.end());
  const size_t riff = extended.size() - 8;
  extended[4] = static_cast<uint8_t>(riff);
  extended[5] = static_cast<uint8_t>(riff >> 8);
  return extended;
}

/// A simple WebP of this size (at most 256 a side) as the two frames of an animated one.
inline Bytes animated_webp(const Bytes& simple, cv::Size size) {
  const auto put = [](Bytes& to, size_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to.push_back(static_cast<uint8_t>(value >> 8 * i));
  };
  Bytes all{'W', 'E', 'B', 'P', 'V', 'P', '8', 'X', 10, 0, 0, 0, 2, 0, 0, 0};
  for (const int side : {size.width, size.height}) put(all, side - 1, 3);
  all.insert(all.end(), {'A', 'N', 'I', 'M', 6, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  for (int frame = 0; frame < 2; ++frame) {
    all.insert(all.end(), {'A', 'N', 'M', 'F'});
    put(all, 16 + simple.size() - 12, 4);
    put(all, 0, 6);  // its place
    for (const int side : {size.width, size.height}) put(all, side - 1, 3);
    put(all, 100, 3);  // milliseconds
    put(all, 0, 1);
    all.insert(all.end(), simple.begin() + 12, simple.end());
  }
  Bytes file{'R', 'I', 'F', 'F'};
  put(file, all.size(), 4);
  file.insert(file.end(), all.begin(), all.end());
  return file;
}

inline ImageError::Kind failure(const fs::path& file) {
  try {
    read_image(file);
  } catch (const ImageError& e) {
    EXPECT_NE(std::string(e.what()).find(file.string()), std::string::npos) << e.what();
    EXPECT_EQ(e.code(), ExitCode::input);
    return e.kind();
  }
  ADD_FAILURE() << file << " was read";
  return {};
}

}  // namespace brightnet::image_files
