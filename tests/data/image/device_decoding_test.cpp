// Which files a device decodes, and what is seen of them.
#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>

#include "data/image/header.h"
#include "data/image/read_image.h"
#include "data/image/window.h"
#include "tests/data/encoded_jpeg.h"
#include "tests/data/image_files.h"

namespace brightnet::testing {
namespace {

const cv::Rect2d whole_image(0, 0, 1, 1);
const JpegKind full_chroma{.across = 1, .down = 1}, half_chroma{.across = 2, .down = 1},
    upright_half{.across = 1, .down = 2}, usual{}, progressive{.progressive = true},
    grey{.colors = JCS_GRAYSCALE};

struct Read {
  cv::Mat device, cpu;
  int asked = 0;
};

Read read(const std::vector<uint8_t>& bytes, cv::Size at_least = {}, int channels = 3,
          const cv::Rect2d& needed = whole_image) {
  const auto file = image_files::write("image.jpg", bytes);
  TakenForDevice decoder;
  decoder.inverts = true;
  std::atomic<bool> known = false;
  const ImageWindow window = read_image_window(file, at_least, needed, channels, {&decoder, &known});
  const ImageWindow expected = read_image_window(file, at_least, needed, channels);
  EXPECT_EQ(window.size, expected.size);
  EXPECT_EQ(known, decoder.asked > 0);
  return {window.pixels, expected.pixels, decoder.asked};
}

bool same(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

cv::Mat inverted(const cv::Mat& image) {
  cv::Mat out;
  cv::bitwise_not(image, out);
  return out;
}

TEST(DeviceDecoding, IsOfTheUsualKindsOfJpegAtTheirOwnSize) {
  const cv::Mat image = smooth_image({61, 43});
  for (const JpegKind& kind : {full_chroma, half_chroma, upright_half, usual, progressive, grey}) {
    for (const int channels : {3, 1}) {
      const Read seen = read(encoded_jpeg(image, kind), {40, 40}, channels);
      EXPECT_EQ(seen.asked, 1);
      EXPECT_TRUE(same(seen.device, inverted(seen.cpu))) << "the device's pixels, of all channels";
    }
  }
}

TEST(DeviceDecoding, IsNotOfOtherKindsOrOfWhatIsDecodedSmaller) {
  const cv::Mat image = smooth_image({64, 48});
  const JpegKind named{.colors = JCS_RGB, .adobe = false}, adobe{.colors = JCS_RGB, .named = false},
      cmyk{.colors = JCS_CMYK}, ycck{.colors = JCS_YCCK}, arithmetic{.arithmetic = true},
      narrow{.across = 4, .down = 1};
  for (const JpegKind& kind : {named, adobe, cmyk, ycck, arithmetic, narrow}) {
    const Read seen = read(encoded_jpeg(image, kind));
    EXPECT_EQ(seen.asked, 0);
    EXPECT_TRUE(same(seen.device, seen.cpu));
  }
  EXPECT_EQ(read(encoded_jpeg(image), {33, 25}).asked, 1);
  EXPECT_EQ(read(encoded_jpeg(image), {32, 24}).asked, 0) << "the CPU decodes it at half its size";
  std::vector<uint8_t> png;
  cv::imencode(".png", image, png);
  EXPECT_EQ(read(png).asked, 0);
  const cv::Mat largest(1024, 2048, CV_8UC3, cv::Scalar::all(90)), larger(1025, 2048, CV_8UC3);
  EXPECT_EQ(read(encoded_jpeg(largest)).asked, 1);
  EXPECT_EQ(read(encoded_jpeg(larger)).asked, 0);
}

TEST(DeviceDecoding, IsNotOfTwelveBits) {
  std::vector<uint8_t> file = encoded_jpeg(smooth_image({64, 48}), progressive);
  EXPECT_TRUE(parse_image_header(file)->usual_jpeg);
  constexpr uint8_t frame[] = {0xFF, 0xC2};
  const auto precision = std::search(file.begin(), file.end(), std::begin(frame), std::end(frame)) + 4;
  ASSERT_EQ(*precision, 8);
  *precision = 12;
  EXPECT_FALSE(parse_image_header(file)->usual_jpeg);
}

TEST(DeviceDecoding, ReadsWindowsAndTurnsAsTheCpuDoes) {
  const cv::Mat image = smooth_image({90, 70});
  const Read window = read(encoded_jpeg(image), {}, 3, {0.3, 0.4, 0.2, 0.5});
  EXPECT_EQ(window.device.size(), cv::Size(18, 35));
  EXPECT_TRUE(same(window.device, inverted(window.cpu)));
  for (const int orientation : {3, 6, 7}) {
    const std::vector<uint8_t> file = image_files::with_exif(encoded_jpeg(image), orientation, false);
    ASSERT_EQ(parse_image_header(file)->orientation, orientation);
    const Read turned = read(file, {}, 3, {0.3, 0.4, 0.2, 0.5});
    EXPECT_EQ(turned.asked, 1);
    EXPECT_TRUE(same(turned.device, inverted(turned.cpu))) << orientation;
  }
}

std::string error_of(const std::filesystem::path& file, const DeviceDecoding& device) {
  try {
    read_image_window(file, {}, whole_image, 3, device);
  } catch (const ImageError& error) {
    return error.what();
  }
  return "";
}

// Damage that the header does not show is the CPU's to report, though the device would show it as grey.
TEST(DeviceDecoding, LeavesDamagedFilesToTheCpu) {
  const cv::Mat image = smooth_image({200, 160});
  for (const JpegKind& kind : {usual, progressive}) {
    const std::vector<uint8_t> file = encoded_jpeg(image, kind);
    const auto middle = file.begin() + static_cast<ptrdiff_t>(file.size() / 2);
    const std::vector<uint8_t> cut(file.begin(), middle);
    std::vector<uint8_t> missing(cut);  // and yet with an end marker
    missing.insert(missing.end(), {0xFF, 0xD9});
    for (const auto& bytes : {cut, missing}) {
      TakenForDevice decoder;
      std::atomic<bool> known = false;
      const auto name = image_files::write("image.jpg", bytes);
      const std::string expected = error_of(name, {});
      EXPECT_NE(expected, "");
      EXPECT_EQ(error_of(name, {&decoder, &known}), expected);
      EXPECT_EQ(decoder.asked, 0);
      EXPECT_FALSE(known);
    }
  }
}

TEST(DeviceDecoding, WhatTheDeviceRefusesIsDecodedByTheCpu) {
  const auto file = image_files::write("image.jpg", encoded_jpeg(smooth_image({64, 48})));
  TakenForDevice decoder;
  decoder.refuses = true;
  std::atomic<bool> known = false;
  EXPECT_TRUE(same(read_image_window(file, {}, whole_image, 3, {&decoder, &known}).pixels, read_image(file)));
  EXPECT_EQ(decoder.asked, 1);
}

}  // namespace
}  // namespace brightnet::testing
