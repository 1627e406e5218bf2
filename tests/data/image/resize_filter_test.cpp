#include "data/image/resize_filter.h"

#include <cmath>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "core/random.h"

namespace brightnet {
namespace {

cv::Mat noise(cv::Size size) {
  cv::Mat image(size, CV_8UC3);
  Random random(11, Purpose::test);
  for (size_t i = 0; i < image.total() * 3; ++i) image.data[i] = static_cast<uint8_t>(random.below(256));
  return image;
}

// Values that change slowly, so that every sensible filter gives nearly the same.
cv::Mat smooth(cv::Size size) {
  cv::Mat image(size, CV_8UC3);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      image.at<cv::Vec3b>(y, x) =
          cv::Vec3b(cv::saturate_cast<uint8_t>(128 + 100 * std::sin(x * 6.0 / size.width)),
                    cv::saturate_cast<uint8_t>(255.0 * y / size.height),
                    cv::saturate_cast<uint8_t>(128 + 100 * std::cos((x + y) * 3.0 / size.width)));
    }
  }
  return image;
}

ImageView whole(const cv::Mat& image) {
  return {image.data, image.step[0], image.cols, image.rows, 0, 0, image.cols, image.rows};
}

cv::Mat resized(const ImageView& view, const Region& region, cv::Size size, const ColorChange& color = {}) {
  cv::Mat out(size, CV_8UC3);
  ResizeFilter filter;
  filter(view, region, {out.data, out.step[0], out.cols, out.rows}, color);
  return out;
}

int largest_difference(const cv::Mat& a, const cv::Mat& b) {
  return static_cast<int>(cv::norm(a, b, cv::NORM_INF));
}

// The filter as the header states it, in fp64 and two dimensions at once, pixel by pixel over the
// whole image.
cv::Vec3d reference(const cv::Mat& image, const Region& region, cv::Size size, int x, int y) {
  const double step_x = (region.right - region.left) / size.width,
               step_y = (region.bottom - region.top) / size.height;
  const double at_x = std::min(std::max(region.left + (x + 0.5) * step_x, 0.5), image.cols - 0.5);
  const double at_y = std::min(std::max(region.top + (y + 0.5) * step_y, 0.5), image.rows - 0.5);
  const double half_x = std::max(1.0, std::abs(step_x)), half_y = std::max(1.0, std::abs(step_y));
  cv::Vec3d sum(0, 0, 0);
  double weights = 0;
  for (int row = 0; row < image.rows; ++row) {
    for (int column = 0; column < image.cols; ++column) {
      const double weight = std::max(0.0, 1 - std::abs(column + 0.5 - at_x) / half_x) *
                            std::max(0.0, 1 - std::abs(row + 0.5 - at_y) / half_y);
      sum += weight * cv::Vec3d(image.at<cv::Vec3b>(row, column));
      weights += weight;
    }
  }
  return sum / weights;
}

TEST(ResizeFilter, EqualsTheStatedFilterInDouble) {
  const cv::Mat image = noise({31, 23});
  const cv::Size size(17, 13);
  const Region regions[] = {{0, 0, 31, 23},         {3.3, 2.7, 9.1, 8.2},   {20.5, 1, 2.25, 22},
                            {-0.4, -0.3, 31.4, 23}, {10, 22.5, 10.5, 22.9}, {31, 23, 0, 0}};
  for (const Region& region : regions) {
    const cv::Mat out = resized(whole(image), region, size);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const cv::Vec3d expected = reference(image, region, size, x, y);
        for (int c = 0; c < 3; ++c)
          ASSERT_NEAR(out.at<cv::Vec3b>(y, x)[c], expected[c], 0.501) << x << ' ' << y;
      }
    }
  }
}

TEST(ResizeFilter, CopiesWhereNothingIsResized) {
  const cv::Mat image = noise({40, 30});
  EXPECT_EQ(largest_difference(resized(whole(image), {0, 0, 40, 30}, {40, 30}), image), 0);
  EXPECT_EQ(
      largest_difference(resized(whole(image), {5, 6, 25, 16}, {20, 10}), image(cv::Rect(5, 6, 20, 10))), 0);
}

TEST(ResizeFilter, MirrorsWhenLeftAndRightAreExchanged) {
  const cv::Mat image = noise({40, 30});
  cv::Mat flipped;
  cv::flip(resized(whole(image), {3, 2, 33.5, 27}, {19, 45}), flipped, 1);
  EXPECT_EQ(largest_difference(resized(whole(image), {33.5, 2, 3, 27}, {19, 45}), flipped), 0);
}

TEST(ResizeFilter, EnlargesAsOpenCvDoes) {
  const cv::Mat image = noise({40, 30});
  cv::Mat expected;
  cv::resize(image, expected, {97, 81}, 0, 0, cv::INTER_LINEAR);
  EXPECT_LE(largest_difference(resized(whole(image), {0, 0, 40, 30}, {97, 81}), expected), 1);
}

TEST(ResizeFilter, ShrinksSmoothImagesAsOpenCvsAreaDoes) {
  const cv::Mat image = smooth({640, 480});
  for (const cv::Size size : {cv::Size(416, 416), cv::Size(200, 150), cv::Size(80, 80)}) {
    cv::Mat expected;
    cv::resize(image, expected, size, 0, 0, cv::INTER_AREA);
    const cv::Rect inside(2, 2, size.width - 4, size.height - 4);  // the filters differ where the image ends
    const cv::Mat out = resized(whole(image), {0, 0, 640, 480}, size);
    EXPECT_LE(largest_difference(out(inside), expected(inside)), 2) << size;
  }
}

TEST(ResizeFilter, DoesNotAliasWhenShrinking) {
  cv::Mat stripes(64, 128, CV_8UC3);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 128; ++x) stripes.at<cv::Vec3b>(y, x) = cv::Vec3b::all((x + y) % 2 ? 255 : 0);
  }
  const cv::Mat out = resized(whole(stripes), {0, 0, 128, 64}, {37, 19});
  double low = 0, high = 0;
  cv::minMaxLoc(out.reshape(1), &low, &high);
  EXPECT_GE(low, 118);
  EXPECT_LE(high, 137);
}

TEST(ResizeFilter, AWindowGivesTheSameAsTheWholeImage) {
  const cv::Mat image = noise({60, 50});
  const Region region{31.7, 18.2, 14.1, 40.9};
  const cv::Size size(11, 30);
  const double reach_x = ResizeFilter::reach(17.6, 11), reach_y = ResizeFilter::reach(22.7, 30);
  const cv::Rect rect(cv::Point(static_cast<int>(14.1 - reach_x), static_cast<int>(18.2 - reach_y)),
                      cv::Point(static_cast<int>(32.7 + reach_x), static_cast<int>(41.9 + reach_y)));
  const cv::Mat part = image(rect).clone();
  const ImageView view{part.data, part.step[0], 60, 50, rect.x, rect.y, rect.br().x, rect.br().y};
  EXPECT_EQ(largest_difference(resized(view, region, size), resized(whole(image), region, size)), 0);
  const ImageView narrow{part.data, part.step[0], 60, 50, 20, rect.y, rect.br().x, rect.br().y};
  EXPECT_THROW(resized(narrow, region, size), std::logic_error);
}

TEST(ResizeFilter, ImagesOfAPixelOrTwo) {
  for (const cv::Size size : {cv::Size(1, 1), cv::Size(2, 1), cv::Size(1, 3)}) {
    const cv::Mat image(size, CV_8UC3, cv::Scalar(10, 20, 30));
    const cv::Mat out = resized(
        whole(image), {0, 0, static_cast<double>(size.width), static_cast<double>(size.height)}, {5, 4});
    EXPECT_EQ(largest_difference(out, cv::Mat(4, 5, CV_8UC3, cv::Scalar(10, 20, 30))), 0);
  }
}

TEST(ResizeFilter, ChangesTheColourAfterResizing) {
  const cv::Mat image(8, 8, CV_8UC3, cv::Scalar(100, 50, 50));
  const cv::Mat out = resized(whole(image), {0, 0, 8, 8}, {5, 5}, {1.0f / 3, 1, 1.5f});
  EXPECT_EQ(out.at<cv::Vec3b>(2, 2), cv::Vec3b(75, 150, 75));
}

}  // namespace
}  // namespace brightnet
