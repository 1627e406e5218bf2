#include "data/image/warp_filter.h"

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "data/image/placement.h"

namespace brightnet {
namespace {

// Waves a few pixels long, so that a wrong position shows.
cv::Mat waves(int width, int height) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto wave = [](double phase) { return static_cast<uint8_t>(128 + 100 * std::sin(phase)); };
      image.at<cv::Vec3b>(y, x) = {wave(x / 3.0), wave(y / 4.0), wave((x + y) / 5.0)};
    }
  }
  return image;
}

ImageView window_of(const cv::Mat& image, const cv::Rect& part) {
  return {image.ptr<uint8_t>(part.y) + 3 * part.x,
          image.step[0],
          image.cols,
          image.rows,
          part.x,
          part.y,
          part.br().x,
          part.br().y};
}

cv::Mat warp(const ImageView& image, const Homography& to_image, cv::Size size,
             const ColorChange& color = {}) {
  cv::Mat out(size, CV_8UC3, cv::Scalar::all(7));
  WarpFilter filter;
  const cv::Rect2d bounds(0, 0, image.width, image.height);
  filter(image, to_image, bounds, {out.data, out.step[0], out.cols, out.rows}, color);
  return out;
}

const Homography some_map(0.8, -0.35, 20, 0.3, 0.9, 5, 0.0008, -0.0005, 1);

TEST(WarpFilter, TheIdentityChangesNothing) {
  const cv::Mat image = waves(37, 23);
  const cv::Mat out = warp(window_of(image, {0, 0, 37, 23}), Homography::eye(), image.size());
  EXPECT_EQ(cv::norm(out, image, cv::NORM_INF), 0);
}

// OpenCV's pixels have their centres at whole numbers, ours at halves; it rounds positions to 1/32.
TEST(WarpFilter, AgreesWithOpenCvInsideTheImage) {
  const cv::Mat image = waves(90, 70);
  const cv::Size size(64, 48);
  const Homography half(1, 0, -0.5, 0, 1, -0.5, 0, 0, 1);
  const Homography opencv = half * some_map * half.inv();
  cv::Mat expected, shown;
  cv::warpPerspective(image, expected, opencv, size, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP);
  cv::warpPerspective(cv::Mat(image.size(), CV_8U, cv::Scalar(1)), shown, opencv, size,
                      cv::INTER_NEAREST | cv::WARP_INVERSE_MAP);
  cv::erode(shown, shown, cv::Mat(), {-1, -1}, 1, cv::BORDER_CONSTANT, cv::Scalar(1));
  const cv::Mat out = warp(window_of(image, {0, 0, 90, 70}), some_map, size);
  EXPECT_GT(cv::countNonZero(shown), 1500);
  cv::Mat difference;
  cv::absdiff(out, expected, difference);
  difference.setTo(0, shown == 0);
  EXPECT_LE(cv::norm(difference, cv::NORM_INF), 3);
  EXPECT_LT(cv::norm(difference, cv::NORM_L1) / (3.0 * cv::countNonZero(shown)), 0.6);
}

TEST(WarpFilter, FillsWhatLiesOutsideTheImageOrBehindTheObserver) {
  const cv::Mat image(20, 20, CV_8UC3, cv::Scalar::all(200));
  const ImageView view = window_of(image, {0, 0, 20, 20});
  cv::Mat out = warp(view, Homography(1, 0, -5, 0, 1, 0, 0, 0, 1), {40, 20});
  EXPECT_EQ(out.at<cv::Vec3b>(10, 4), cv::Vec3b::all(fill_value));
  EXPECT_EQ(out.at<cv::Vec3b>(10, 5), cv::Vec3b::all(200));
  EXPECT_EQ(out.at<cv::Vec3b>(10, 24), cv::Vec3b::all(200));
  EXPECT_EQ(out.at<cv::Vec3b>(10, 25), cv::Vec3b::all(fill_value));
  out = warp(view, Homography(-1, 0, 0, 0, -1, 0, 0, 0, -1), {20, 20});
  EXPECT_EQ(cv::norm(out, cv::Mat(20, 20, CV_8UC3, cv::Scalar::all(fill_value)), cv::NORM_INF), 0);
}

TEST(WarpFilter, AWindowGivesThePixelsOfTheWholeImage) {
  const cv::Mat image = waves(300, 260);
  const cv::Size size(32, 32);
  const Homography to_image(0.9, -0.4, 150, 0.4, 0.9, 100, 0.0001, 0.0002, 1);
  const cv::Mat expected = warp(window_of(image, {0, 0, 300, 260}), to_image, size);
  const auto places = project(to_image, corners_of({0, 0, 32, 32}), cv::Rect2d(0, 0, 300, 260));
  const cv::Rect2d bounds = bounds_of(places);
  const cv::Rect part(cv::Point(static_cast<int>(bounds.x) - 2, static_cast<int>(bounds.y) - 2),
                      cv::Point(static_cast<int>(bounds.br().x) + 3, static_cast<int>(bounds.br().y) + 3));
  EXPECT_EQ(cv::norm(warp(window_of(image, part), to_image, size), expected, cv::NORM_INF), 0);
  const cv::Rect too_small(part.x + 6, part.y, part.width - 6, part.height);
  EXPECT_THROW(warp(window_of(image, too_small), to_image, size), std::exception);
}

TEST(WarpFilter, ChangesTheColoursOfTheImageAlone) {
  const cv::Mat image(20, 20, CV_8UC3, cv::Scalar::all(100));
  const Homography to_image(1, 0, -5, 0, 1, 0, 0, 0, 1);
  ColorChange twice_as_bright;
  twice_as_bright.exposure = 2;
  const cv::Mat out = warp(window_of(image, {0, 0, 20, 20}), to_image, {40, 20}, twice_as_bright);
  EXPECT_EQ(out.at<cv::Vec3b>(3, 10), cv::Vec3b::all(200));
  EXPECT_EQ(out.at<cv::Vec3b>(3, 2), cv::Vec3b::all(fill_value));
}

}  // namespace
}  // namespace brightnet
