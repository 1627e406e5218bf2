#include "data/augment/pixels.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

namespace brightnet {
namespace {

PixelBlock block_of(cv::Mat& image) {
  return {image.data, image.step[0], image.cols, image.rows};
}

TEST(DrawPixels, ProbabilitiesOfZeroAndOneAreNeverAndAlways) {
  AugmentOptions options;
  EXPECT_FALSE(draws_pixels(options));
  AugmentOptions sure;
  sure.blur = sure.noise = sure.grey = 1;
  sure.blur_sigma = {0.5f, 2};
  sure.noise_sigma = {3, 9};
  EXPECT_TRUE(draws_pixels(sure));
  PixelDraw low{9, 99, false, 0}, high{};
  for (uint64_t i = 0; i < 1000; ++i) {
    Random one(1, Purpose::test, 0, i), other(1, Purpose::test, 0, i);
    const PixelDraw none = draw_pixels(one, options), all = draw_pixels(other, sure);
    EXPECT_EQ(none.blur, 0);
    EXPECT_EQ(none.noise, 0);
    EXPECT_FALSE(none.grey);
    EXPECT_TRUE(all.grey);
    low = {std::min(low.blur, all.blur), std::min(low.noise, all.noise), false, 0};
    high = {std::max(high.blur, all.blur), std::max(high.noise, all.noise), false, 0};
  }
  EXPECT_NEAR(low.blur, 0.5, 0.01);
  EXPECT_NEAR(high.blur, 2, 0.01);
  EXPECT_NEAR(low.noise, 3, 0.05);
  EXPECT_NEAR(high.noise, 9, 0.05);
}

TEST(ChangePixels, ABlurredEdgeIsTheNormalDistribution) {
  cv::Mat image(40, 64, CV_8UC3, cv::Scalar::all(0));
  image.colRange(32, 64).setTo(cv::Scalar::all(200));
  change_pixels({2, 0, false, 0}, block_of(image));
  for (int x = 26; x < 38; ++x) {
    const double expected = 100 * (1 + std::erf((x - 31.5) / (2 * std::sqrt(2.0))));
    EXPECT_NEAR(image.at<cv::Vec3b>(20, x)[1], expected, 3) << x;
  }
}

TEST(DrawPixels, AnImageIsBlurredAsAWholeOrAroundItsObjects) {
  AugmentOptions options;
  options.blur = 0.25f;
  options.blur_background = 0.5f;
  options.blur_sigma = {0.5f, 1};
  options.blur_background_sigma = {4, 5};
  EXPECT_TRUE(draws_pixels(options));
  int whole = 0, background = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const PixelDraw draw = draw_pixels(random, options);
    whole += draw.blur > 0 && draw.blur <= 1 && !draw.blurs_background;
    background += draw.blur >= 4 && draw.blurs_background;
    EXPECT_TRUE(draw.blur > 0 || !draw.blurs_background);
  }
  EXPECT_NEAR(whole, 1000, 90);
  EXPECT_NEAR(background, 2000, 110);
}

TEST(DrawPixels, TheBackgroundIsBlurredInTheSameImagesWithABlurBeside) {
  AugmentOptions alone, beside;
  alone.blur_background = beside.blur_background = 0.3f;
  beside.blur = 0.3f;
  int blurred = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    Random one(1, Purpose::test, 0, i), other(1, Purpose::test, 0, i);
    const PixelDraw a = draw_pixels(one, alone), b = draw_pixels(other, beside);
    EXPECT_EQ(a.blurs_background, b.blurs_background) << i;
    blurred += a.blurs_background;
  }
  EXPECT_NEAR(blurred, 90, 25);
}

TEST(ChangePixels, ABlurOfTheBackgroundLeavesTheObjectsSharp) {
  cv::Mat image(30, 40, CV_8UC3);
  for (int x = 0; x < 40; ++x) image.col(x).setTo(cv::Scalar::all(x % 2 * 200));
  const cv::Mat before = image.clone();
  PixelDraw draw{3, 0, false, 0, true};
  const std::vector<cv::Rect> objects{{4, 5, 10, 8}, {30, 20, 30, 30}, {-50, -50, 10, 10}};
  change_pixels(draw, block_of(image), objects);
  const cv::Rect whole(0, 0, 40, 30);
  for (const cv::Rect& object : {objects[0], objects[1] & whole})
    EXPECT_EQ(cv::norm(image(object), before(object), cv::NORM_INF), 0);
  EXPECT_GT(cv::norm(image({16, 5, 10, 8}), before({16, 5, 10, 8}), cv::NORM_INF), 50);
}

TEST(ChangePixels, NothingBeyondTheBlockIsReadOrChanged) {
  cv::Mat image(30, 30, CV_8UC3, cv::Scalar::all(255)), before;
  const cv::Rect part(10, 10, 10, 10);
  image(part).setTo(cv::Scalar(90, 60, 30));
  before = image.clone();
  const PixelBlock block{image.ptr<uint8_t>(10) + 30, image.step[0], 10, 10};
  change_pixels({3, 0, false, 0}, block);
  EXPECT_EQ(cv::norm(image, before, cv::NORM_INF), 0) << "the block is of one colour, and stays so";
  change_pixels({0, 10, true, 5}, block);
  image(part).setTo(cv::Scalar(90, 60, 30));
  EXPECT_EQ(cv::norm(image, before, cv::NORM_INF), 0);
}

TEST(ChangePixels, NoiseHasTheStandardDeviationAndNoPattern) {
  cv::Mat image(200, 200, CV_8UC3, cv::Scalar::all(128)), again, other;
  again = image.clone();
  other = image.clone();
  change_pixels({0, 12, false, 77}, block_of(image));
  change_pixels({0, 12, false, 77}, block_of(again));
  change_pixels({0, 12, false, 78}, block_of(other));
  EXPECT_EQ(cv::norm(image, again, cv::NORM_INF), 0);
  EXPECT_GT(cv::norm(image, other, cv::NORM_L1) / static_cast<double>(3 * image.total()), 10);
  cv::Scalar mean, deviation;
  cv::meanStdDev(image, mean, deviation);
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(mean[c], 128, 0.4);
    EXPECT_NEAR(deviation[c], 12, 0.3);
  }
  // Rows, columns and channels are not correlated.
  cv::Mat values;
  image.reshape(1).convertTo(values, CV_32F, 1.0 / 12, -128.0 / 12);
  const auto correlation = [](const cv::Mat& a, const cv::Mat& b) {
    return a.dot(b) / static_cast<double>(a.total());
  };
  EXPECT_NEAR(correlation(values.rowRange(0, 199), values.rowRange(1, 200)), 0, 0.02);
  EXPECT_NEAR(correlation(values.colRange(0, 599), values.colRange(1, 600)), 0, 0.02);
}

TEST(ChangePixels, NoiseStaysWithinTheRangeOfAByte) {
  cv::Mat image(50, 50, CV_8UC3, cv::Scalar(0, 128, 255));
  change_pixels({0, 100, false, 1}, block_of(image));
  cv::Scalar mean = cv::mean(image);
  EXPECT_NEAR(mean[0], 40, 4) << "half of it is cut off at black";
  EXPECT_NEAR(mean[2], 215, 4) << "and at white";
}

TEST(ChangePixels, GreyIsTheLuminance) {
  cv::Mat image(1, 4, CV_8UC3);
  const cv::Vec3b colors[] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {114, 114, 114}};
  const int expected[] = {76, 150, 29, 114};
  for (int i = 0; i < 4; ++i) image.at<cv::Vec3b>(0, i) = colors[i];
  change_pixels({0, 0, true, 0}, block_of(image));
  for (int i = 0; i < 4; ++i) {
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(image.at<cv::Vec3b>(0, i)[c], expected[i], 1);
  }
}

TEST(DrawPixels, EachProbabilityIsThatOfItsOwnChange) {
  const auto drawn = [](float AugmentOptions::*option) {
    AugmentOptions options;
    options.*option = 1;
    EXPECT_TRUE(draws_pixels(options));
    Random random(1, Purpose::test);
    return draw_pixels(random, options);
  };
  const PixelDraw blur = drawn(&AugmentOptions::blur), around = drawn(&AugmentOptions::blur_background),
                  noise = drawn(&AugmentOptions::noise), grey = drawn(&AugmentOptions::grey);
  EXPECT_TRUE(blur.blur > 0 && !blur.blurs_background && blur.noise == 0 && !blur.grey);
  EXPECT_TRUE(around.blur > 0 && around.blurs_background && around.noise == 0 && !around.grey);
  EXPECT_TRUE(noise.blur == 0 && noise.noise > 0 && !noise.grey);
  EXPECT_TRUE(grey.blur == 0 && grey.noise == 0 && grey.grey);
}

TEST(ChangePixels, NoiseComesAfterTheBlurAndGreyLast) {
  cv::Mat blurred(100, 100, CV_8UC3, cv::Scalar::all(128)), grey = blurred.clone();
  change_pixels({3, 12, false, 77}, block_of(blurred));
  cv::Scalar mean, deviation;
  cv::meanStdDev(blurred, mean, deviation);
  EXPECT_NEAR(deviation[0], 12, 0.6) << "a blur of the noise would leave little of it";
  change_pixels({0, 12, true, 77}, block_of(grey));
  cv::Mat planes[3];
  cv::split(grey, planes);
  EXPECT_EQ(cv::norm(planes[0], planes[1], cv::NORM_INF), 0);
  EXPECT_EQ(cv::norm(planes[0], planes[2], cv::NORM_INF), 0);
}

TEST(DrawPixels, EachImageHasNoiseOfItsOwn) {
  AugmentOptions options;
  options.noise = 1;
  std::set<uint32_t> seeds;
  for (uint64_t i = 0; i < 100; ++i) {
    Random random(1, Purpose::test, 0, i);
    seeds.insert(draw_pixels(random, options).noise_seed);
  }
  EXPECT_EQ(seeds.size(), 100u);
}

}  // namespace
}  // namespace brightnet
