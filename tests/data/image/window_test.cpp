#include "data/image/window.h"

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/random.h"
#include "data/image/read_image.h"
#include "tests/data/drawn_dataset.h"
#include "tests/data/encoded_jpeg.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

// Smooth colours with noise on top: every block has low and high frequencies, chroma too.
cv::Mat noisy_image(cv::Size size) {
  cv::Mat small(size.height / 16 + 2, size.width / 16 + 2, CV_8UC3), noise(size, CV_8UC3), image;
  Random random(3, Purpose::test);
  for (auto* mat : {&small, &noise}) {
    for (size_t i = 0; i < mat->total() * 3; ++i) mat->data[i] = static_cast<uint8_t>(random.below(256));
  }
  cv::resize(small, image, size, 0, 0, cv::INTER_CUBIC);
  cv::addWeighted(image, 0.8, noise, 0.2, 0, image);
  return image;
}

int differing(const ImageWindow& window, const cv::Mat& whole) {
  const cv::Mat same = whole(cv::Rect(window.corner, window.pixels.size()));
  int count = 0;
  const size_t channels = same.elemSize();
  for (int y = 0; y < same.rows; ++y) {
    for (size_t i = 0; i < channels * static_cast<size_t>(same.cols); ++i)
      count += same.ptr(y)[i] != window.pixels.ptr(y)[i];
  }
  return count;
}

// Random windows of a file at every reduction against the whole image.
void expect_same_pixels(const std::filesystem::path& file, cv::Size size, bool only_window,
                        int channels = 3) {
  Random random(5, Purpose::test);
  for (const int smaller : {1, 2, 8, 16}) {
    const cv::Size at_least(size.width / smaller, size.height / smaller);
    const cv::Mat whole = read_image(file, at_least, channels);
    for (int i = 0; i < 40; ++i) {
      const cv::Rect2d needed(random.uniform(-0.2f, 0.9f), random.uniform(-0.2f, 0.9f),
                              random.uniform(0.01f, 0.8f), random.uniform(0.01f, 0.8f));
      const ImageWindow window = read_image_window(file, at_least, needed, channels);
      ASSERT_EQ(window.size, whole.size());
      ASSERT_EQ(window.pixels.channels(), channels);
      ASSERT_EQ(differing(window, whole), 0) << file << " 1/" << smaller << ' ' << needed;
      EXPECT_LE(window.corner.x, std::max(0.0, needed.x) * whole.cols);
      EXPECT_GE(window.corner.x + window.pixels.cols, std::min(1.0, needed.br().x) * whole.cols);
      EXPECT_LE(window.corner.y, std::max(0.0, needed.y) * whole.rows);
      EXPECT_GE(window.corner.y + window.pixels.rows, std::min(1.0, needed.br().y) * whole.rows);
      if (only_window) {
        EXPECT_LE(window.pixels.rows, needed.height * whole.rows + 2);
        EXPECT_LE(window.pixels.cols, needed.width * whole.cols + 2);
      }
    }
  }
}

TEST(ImageWindow, HasTheWholeImagesPixelsForEveryKindOfJpeg) {
  const auto folder = test_folder();
  const cv::Size size(329, 247);
  const cv::Mat image = noisy_image(size);
  // OpenCV's default subsamples chroma 2×2; a quality alone cannot change that, grey has none.
  cv::imwrite((folder / "color.jpg").string(), image, {cv::IMWRITE_JPEG_QUALITY, 85});
  cv::imwrite((folder / "progressive.jpg").string(), image, {cv::IMWRITE_JPEG_PROGRESSIVE, 1});
  cv::imwrite((folder / "restart.jpg").string(), image, {cv::IMWRITE_JPEG_RST_INTERVAL, 4});
  cv::Mat grey;
  cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
  cv::imwrite((folder / "grey.jpg").string(), grey);
  for (const char* name : {"color.jpg", "progressive.jpg", "restart.jpg", "grey.jpg"})
    for (const int channels : {3, 1}) expect_same_pixels(folder / name, size, true, channels);
}

TEST(ImageWindow, HasTheWholeImagesPixelsWhateverTheResolutionOfChroma) {
  const auto file = test_folder() / "image.jpg";
  const cv::Size size(329, 247);
  for (const auto& [across, down] : {std::pair(1, 1), {2, 1}, {1, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}}) {
    SCOPED_TRACE(std::to_string(across) + " pixels across, " + std::to_string(down) + " down");
    testing::write_file(file.string(),
                        testing::encoded_jpeg(noisy_image(size), {.across = across, .down = down}));
    expect_same_pixels(file, size, false);
  }
}

TEST(ImageWindow, HasTheWholeImagesPixelsOfPhotographs) {
  const std::filesystem::path folder = testing::source_dir() / "../shared/bccd/JPEGImages";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the BCCD photographs are not in ../shared";
  expect_same_pixels(folder / "BloodImage_00000.jpg", {640, 480}, true);
}

TEST(ImageWindow, OtherFormatsAreDecodedWhole) {
  const auto file = test_folder() / "image.png";
  cv::imwrite(file.string(), noisy_image({64, 48}));
  for (const int channels : {3, 1}) expect_same_pixels(file, {64, 48}, false, channels);
}

TEST(ImageWindow, ReportsAFileThatWasCutOff) {
  const auto file = test_folder() / "image.jpg";
  cv::imwrite(file.string(), noisy_image({200, 200}));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) * 2 / 3);
  EXPECT_THROW(read_image_window(file, {}, {0, 0, 0.2, 0.2}), ImageError);
  EXPECT_THROW(read_image_window(file.string() + ".none", {}, {0, 0, 1, 1}), ImageError);
}

}  // namespace
}  // namespace brightnet
