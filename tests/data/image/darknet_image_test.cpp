#include "data/image/darknet_image.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/random.h"
#include "data/image/grey.h"
#include "data/image/read_image.h"
#include "tests/data/image_files.h"

namespace brightnet::testing {
namespace {

cv::Mat noise(int width, int height) {
  cv::Mat image(height, width, CV_8UC3);
  Random random(7, Purpose::augment, static_cast<uint64_t>(width), static_cast<uint64_t>(height));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < 3 * width; ++x) image.ptr<uint8_t>(y)[x] = static_cast<uint8_t>(random.below(256));
  }
  return image;
}

/// The formula of the resize, straight: where the corners' centres coincide, between the four pixels around.
double blended(const cv::Mat& image, int column, int row, int channel, int width, int height) {
  const auto source = [](int at, int from, int to) {
    return at == to - 1 ? from - 1.0 : at * static_cast<double>(from - 1) / (to - 1);
  };
  const double x = source(column, image.cols, width), y = source(row, image.rows, height);
  double sum = 0;
  for (int v = 0; v < image.rows; ++v) {
    for (int u = 0; u < image.cols; ++u) {
      const double weight = std::max(0.0, 1 - std::abs(u - x)) * std::max(0.0, 1 - std::abs(v - y));
      if (weight > 0) sum += weight * image.at<cv::Vec3b>(v, u)[channel] / 255.0;
    }
  }
  return sum;
}

TEST(DarknetImage, IsBilinearBetweenTheCornersPixels) {
  for (const auto& [width, height] : {std::pair(50, 41), {9, 30}, {32, 32}, {1, 5}, {70, 1}}) {
    const cv::Mat image = noise(width, height);
    std::vector<float> values(3 * 32 * 32, -1.0f);
    fill_darknet_input(image, 32, false, values.data());
    for (int i = 0; i < static_cast<int>(values.size()); ++i) {
      ASSERT_NEAR(values[static_cast<size_t>(i)], blended(image, i / 3 % 32, i / 96, i % 3, 32, 32), 2e-5)
          << width << 'x' << height << " value " << i;
    }
  }
}

// 119 · (479 / 119) is 478.99997 in fp32, and so the last row is blended of row 478 with a weight of 3e-5
// and, by darknet's exception for last rows, of nothing else.
TEST(DarknetImage, HasDarknetsBlackLastRowWhereRoundingFallsShort) {
  const float source = 119 * (479.0f / 119);
  ASSERT_LT(source, 479.0f);
  const cv::Mat image = noise(40, 480);
  std::vector<float> values(3 * 120 * 120);
  fill_darknet_input(image, 120, false, values.data());
  const size_t row = 3 * 120;
  for (size_t i = 0; i < row; ++i) {
    EXPECT_LT(values[119 * row + i], 1e-4f);
    EXPECT_NEAR(values[118 * row + i],
                blended(image, static_cast<int>(i / 3), 118, static_cast<int>(i % 3), 120, 120), 5e-5);
  }
}

TEST(DarknetImage, LeavesAnImageOfTheInputsSizeAsItIs) {
  const cv::Mat image = noise(32, 32);
  std::vector<float> values(3 * 32 * 32);
  fill_darknet_input(image, 32, false, values.data());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(image.data[i]) / 255.0f);
}

TEST(DarknetImage, TruncatesTheSidesOfALetterboxAndGreysTheRest) {
  // 50 · 32 / 60 = 26.67, so 26 columns; the margin of 6 has 3 on the left.
  const cv::Mat image = noise(50, 60);
  std::vector<float> values(3 * 32 * 32);
  fill_darknet_input(image, 32, true, values.data());
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const int column = i / 3 % 32 - 3, row = i / 96;
    const bool shown = column >= 0 && column < 26;
    ASSERT_NEAR(values[static_cast<size_t>(i)], shown ? blended(image, column, row, i % 3, 26, 32) : 0.5,
                2e-5);
  }
  const Placement placement = place(50, 60, {.size = 32, .letterbox = true, .resize = Resize::darknet});
  EXPECT_FLOAT_EQ(placement.scale_x, 26.0f / 50);
  EXPECT_FLOAT_EQ(placement.scale_y, 32.0f / 60);
  EXPECT_EQ(placement.offset_x, 3);
  EXPECT_EQ(placement.offset_y, 0);
  // darknet maps boxes back by half pixels that the image itself was not moved by.
  EXPECT_EQ(place(52, 60, {.size = 32, .letterbox = true, .resize = Resize::darknet}).offset_x, 2.5f);
}

TEST(DarknetImage, IsReadUprightAndNearToWhatOtherDecodersSay) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "darknet_image_read";
  std::filesystem::create_directories(folder);
  cv::Mat smooth;
  cv::resize(noise(6, 4), smooth, {60, 40}, 0, 0, cv::INTER_CUBIC);
  cv::imwrite((folder / "a.jpg").string(), smooth);
  const cv::Mat ours = read_image(folder / "a.jpg"), theirs = read_darknet_image(folder / "a.jpg");
  ASSERT_EQ(ours.size(), theirs.size());
  EXPECT_LE(cv::norm(ours, theirs, cv::NORM_INF), 8);
  EXPECT_GT(cv::norm(ours, theirs, cv::NORM_L1), 0) << "two decoders, or one?";
  cv::imwrite((folder / "a.png").string(), smooth);
  EXPECT_EQ(cv::norm(read_image(folder / "a.png"), read_darknet_image(folder / "a.png"), cv::NORM_INF), 0);
  const cv::Mat grey = read_darknet_image(folder / "a.jpg", 1);
  ASSERT_EQ(grey.type(), CV_8UC1);
  EXPECT_LT(cv::norm(grey, grey_of(ours), cv::NORM_L1) / static_cast<double>(grey.total()), 4);
  EXPECT_EQ(cv::norm(read_darknet_image(folder / "a.png", 1), grey_of(smooth, true), cv::NORM_INF), 0);
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(cv::imencode(".jpg", smooth, bytes));
  for (const int orientation : {3, 6, 8}) {
    const std::vector<uint8_t> turned = image_files::with_exif(bytes, orientation, true);
    std::ofstream(folder / "turned.jpg", std::ios::binary)
        .write(reinterpret_cast<const char*>(turned.data()), static_cast<std::streamsize>(turned.size()));
    const cv::Mat upright_ours = read_image(folder / "turned.jpg"),
                  upright_theirs = read_darknet_image(folder / "turned.jpg");
    ASSERT_EQ(upright_theirs.size(), orientation == 3 ? cv::Size(60, 40) : cv::Size(40, 60));
    EXPECT_LE(cv::norm(upright_ours, upright_theirs, cv::NORM_INF), 8) << orientation;
  }
  EXPECT_THROW(read_darknet_image(folder / "absent.jpg"), ImageError);
  std::filesystem::resize_file(folder / "a.jpg", std::filesystem::file_size(folder / "a.jpg") / 2);
  EXPECT_THROW(read_darknet_image(folder / "a.jpg"), ImageError) << "it would be half grey";
  std::filesystem::remove_all(folder);
}

// stb_image 2.27 writes past its arrays for these.
TEST(DarknetImage, AJpegWithMoreSymbolsInATableThanThereAreIsRefused) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "long_table.jpg";
  std::vector<uint8_t> whole;
  ASSERT_TRUE(cv::imencode(".jpg", noise(16, 16), whole));
  const auto refusal = [&](const std::vector<uint8_t>& bytes) -> std::string {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    try {
      read_darknet_image(file);
    } catch (const ImageError& error) {
      return error.detail();
    }
    return "";
  };
  EXPECT_EQ(refusal(whole), "");
  const std::vector<uint8_t> marker{0xFF, 0xC4};
  const auto table = std::search(whole.begin(), whole.end(), marker.begin(), marker.end());
  ASSERT_NE(table, whole.end());
  std::vector<uint8_t> first = whole, behind_the_pixels = whole;
  std::fill_n(first.begin() + (table - whole.begin()) + 5, 16, uint8_t{255});
  EXPECT_EQ(refusal(first), "one of its Huffman tables has more than 256 symbols");
  std::vector<uint8_t> segment{0xFF, 0xC4, 0, 19, 0};
  segment.insert(segment.end(), 16, 17);
  behind_the_pixels.insert(behind_the_pixels.end() - 2, segment.begin(), segment.end());
  EXPECT_EQ(refusal(behind_the_pixels), "one of its Huffman tables has more than 256 symbols");
}

TEST(DarknetImage, ARectangularInputHasItsOwnHeightAndWidth) {
  const InputSize input(20, 48);
  for (const int channels : {3, 1}) {
    cv::Mat image = noise(50, 41);
    if (channels == 1) cv::extractChannel(image, image, 1);
    std::vector<float> values(static_cast<size_t>(channels) * 20 * 48, -1.0f);
    fill_darknet_input(image, input, false, values.data());
    const cv::Mat three = noise(50, 41);
    for (int i = 0; i < static_cast<int>(values.size()); ++i) {
      const int pixel = i / channels, channel = channels == 1 ? 1 : i % 3;
      ASSERT_NEAR(values[static_cast<size_t>(i)], blended(three, pixel % 48, pixel / 48, channel, 48, 20),
                  2e-5)
          << i;
    }
  }
  // letterbox_image(): 20 / 41 is the lesser factor, so the height is whole and 50 * 20 / 41 = 24 columns are covered.
  const Placement placement = place_as_darknet(50, 41, input, true);
  EXPECT_FLOAT_EQ(placement.scale_x, 24.0f / 50);
  EXPECT_FLOAT_EQ(placement.scale_y, 20.0f / 41);
  EXPECT_FLOAT_EQ(placement.offset_x, 12);
  EXPECT_FLOAT_EQ(placement.offset_y, 0);
  const cv::Mat image = noise(50, 41);
  std::vector<float> values(3 * 20 * 48, -1.0f);
  fill_darknet_input(image, input, true, values.data());
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const int column = i / 3 % 48, row = i / (3 * 48);
    const bool inside = column >= 12 && column < 36;
    ASSERT_NEAR(values[static_cast<size_t>(i)],
                inside ? blended(image, column - 12, row, i % 3, 24, 20) : 0.5, 2e-5)
        << i;
  }
}

}  // namespace
}  // namespace brightnet::testing
