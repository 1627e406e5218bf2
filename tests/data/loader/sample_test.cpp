#include "data/loader/sample.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "tests/data/drawn_dataset.h"

namespace brightnet {
namespace {

// Black images with red, green and blue rectangles: the class is the channel. The three lie in thirds of the
// image, so that they never overlap in it.
Dataset draw_colors(const std::filesystem::path& folder) {
  Dataset dataset;
  dataset.classes = {"red", "green", "blue"};
  Random random(4, Purpose::test);
  const cv::Size sizes[] = {{300, 200}, {180, 260}, {240, 240}, {420, 150}, {333, 271}, {200, 300}};
  for (const cv::Size size : sizes) {
    ImageRecord record;
    record.file = folder / (std::to_string(dataset.images.size()) + ".png");
    record.width = size.width;
    record.height = size.height;
    cv::Mat rgb(size, CV_8UC3, cv::Scalar::all(0)), bgr;
    for (int c = 0; c < 3; ++c) {
      const auto part = [&](int length, double from, double to) {
        return static_cast<int>(length * random.uniform(static_cast<float>(from), static_cast<float>(to)));
      };
      const cv::Point corner(c * size.width / 3 + part(size.width, 0, 0.1), part(size.height, 0, 0.5));
      const cv::Rect box(corner, cv::Size(part(size.width, 0.15, 0.22), part(size.height, 0.2, 0.5)));
      cv::Scalar color = cv::Scalar::all(0);
      color[c] = 255;
      rgb(box) = color;
      record.annotations.push_back({static_cast<float>(box.x), static_cast<float>(box.y),
                                    static_cast<float>(box.br().x), static_cast<float>(box.br().y), c, false,
                                    false, static_cast<float>(box.area())});
    }
    cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
    cv::imwrite(record.file.string(), bgr);
    dataset.images.push_back(record);
  }
  return dataset;
}

cv::Rect2f pixels_of(const Truth& truth, const InputSize& size) {
  const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
  return {(truth.box.x - truth.box.w / 2) * w, (truth.box.y - truth.box.h / 2) * h, truth.box.w * w,
          truth.box.h * h};
}

cv::Rect2f widened(const cv::Rect2f& box, float by) {
  return {box.x - by, box.y - by, box.width + 2 * by, box.height + 2 * by};
}

// Where the channel stands out: half of the weakest colour that the augmentations below can make. The darkest
// of the other two is taken off, since in a mixup one of them may be another object.
cv::Mat mask_of(const cv::Mat& rgb, int channel) {
  cv::Mat planes[3], least;
  cv::split(rgb, planes);
  cv::min(planes[(channel + 1) % 3], planes[(channel + 2) % 3], least);
  return planes[channel] - least > 45;
}

struct Found {
  int boxes = 0;       // truths compared
  double iou = 0;      // sum over them
  double worst = 1;    // least IoU
  int unlabelled = 0;  // pixels of a class's colour outside its truths
};

// Compares each truth with the pixels of its colour in and around it, unless another of its class is near.
void compare(const cv::Mat& rgb, const std::vector<Truth>& truths, Found& found) {
  const InputSize size(rgb.rows, rgb.cols);
  for (int channel = 0; channel < 3; ++channel) {
    const cv::Mat mask = mask_of(rgb, channel);
    for (size_t i = 0; i < truths.size(); ++i) {
      if (truths[i].class_id != channel) continue;
      const cv::Rect2f box = pixels_of(truths[i], size), around = widened(box, 5);
      const bool alone = std::none_of(truths.begin(), truths.end(), [&](const Truth& other) {
        return &other != &truths[i] && other.class_id == channel &&
               (pixels_of(other, size) & widened(around, 1)).area() > 0;  // its pixels may reach over its box
      });
      if (!alone || box.width < 15 || box.height < 15) continue;
      const cv::Rect window = cv::Rect(around) & cv::Rect({}, rgb.size());
      cv::Rect2f blob = cv::boundingRect(mask(window));
      blob.x += static_cast<float>(window.x);
      blob.y += static_cast<float>(window.y);
      const double common = (blob & box).area();
      const double iou = common / (blob.area() + box.area() - common);
      ++found.boxes;
      found.iou += iou;
      found.worst = std::min(found.worst, iou);
    }
    cv::Mat unclaimed = mask.clone();
    for (const Truth& truth : truths) {
      if (truth.class_id != channel) continue;
      unclaimed(cv::Rect(widened(pixels_of(truth, size), 3)) & cv::Rect({}, rgb.size())) = 0;
    }
    // What is left of an object may be too thin to count as one (smallest_box_side): that is eroded away.
    cv::erode(unclaimed, unclaimed, cv::Mat(), cv::Point(-1, -1), 1, cv::BORDER_CONSTANT, cv::Scalar(0));
    found.unlabelled += cv::countNonZero(unclaimed);
  }
}

AugmentOptions everything() {
  AugmentOptions options;
  options.mosaic = 0.7f;
  options.mixup = 0.5f;
  options.flip = 0.5f;
  options.jitter = 0.3f;
  options.resize = 1.5f;
  options.hue = 0.02f;
  options.saturation = 1.2f;
  options.exposure = 1.3f;
  options.min_visible = 0;  // so that every blob has its truth
  return options;
}

// With a geometry of its own for each image of a mosaic.
AugmentOptions everything_askew() {
  AugmentOptions options = everything();
  options.vertical_flip = 0.5f;
  options.quarter_turns = 0.3f;
  options.rotate = 15;
  options.scale = 0.2f;
  options.translate = 0.1f;
  options.shear = 5;
  options.perspective = 0.0003f;
  options.warped_boxes = WarpedBoxes::corners;
  options.noise = 0.3f;
  options.noise_sigma = {1, 4};
  return options;
}

// Also of inputs that are no squares: whatever exchanges height and width puts boxes beside their pixels.
class SampleMakerOfSize : public ::testing::TestWithParam<InputSize> {};

TEST_P(SampleMakerOfSize, BoxesFollowPixelsWithEverythingOn) {
  const InputSize size = GetParam();
  const Dataset dataset = draw_colors(test_folder());
  AugmentOptions turned = everything();  // these exchange the axes and do nothing else
  turned.vertical_flip = turned.quarter_turns = 0.5f;
  for (const auto& [letterbox, what] : {std::pair(false, everything()),
                                        {true, everything()},
                                        {false, turned},
                                        {true, turned},
                                        {false, everything_askew()},
                                        {true, everything_askew()}}) {
    AugmentOptions options = what;
    options.letterbox = letterbox;
    ImageCache cache(dataset, 1 << 30, {});
    SampleMaker maker(dataset, options, cache);
    cv::Mat rgb(size.height, size.width, CV_8UC3);
    std::vector<Truth> truths;
    Found found;
    for (uint64_t i = 0; i < 120; ++i) {
      maker.make({5, 0, i, static_cast<int>(i % dataset.images.size()), false}, size, rgb.data, truths);
      compare(rgb, truths, found);
    }
    EXPECT_GT(found.boxes, 200);
    // A pixel of rounding costs the smaller objects of a flat input more.
    EXPECT_GT(found.iou / found.boxes, size.square() ? 0.96 : 0.955);
    EXPECT_GT(found.worst,
              size.square() ? 0.75 : 0.7);  // the rest of another, too thin to have a box, may touch it
    EXPECT_EQ(found.unlabelled, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SampleMakerOfSize,
                         ::testing::Values(InputSize(256), InputSize(192, 320), InputSize(320, 192)),
                         [](const auto& info) { return "Of" + info.param.text(); });

// Each image is one object from edge to edge. In a mosaic the four boxes then tile the input. A jittered crop
// cuts the image off at the seam, or leaves some of the input empty, but no two boxes overlap.
TEST(SampleMaker, MosaicBoxesMeetAtTheSeamsAndDoNotReachOverThem) {
  Dataset dataset = draw_colors(test_folder());
  for (ImageRecord& record : dataset.images) {
    record.annotations.resize(1);
    Annotation& whole = record.annotations[0];
    whole.x1 = whole.y1 = 0;
    whole.x2 = static_cast<float>(record.width);
    whole.y2 = static_cast<float>(record.height);
  }
  for (const float jitter : {0.0f, 0.3f}) {
    AugmentOptions options;
    options.mosaic = 1;
    options.jitter = jitter;
    options.min_visible = 0;
    ImageCache cache(dataset, 1 << 30, {});
    SampleMaker maker(dataset, options, cache);
    constexpr int size = 64;
    std::vector<uint8_t> pixels(3 * size * size);
    std::vector<Truth> truths;
    for (uint64_t i = 0; i < 8; ++i) {
      maker.make({5, 0, i, static_cast<int>(i % dataset.images.size()), false}, size, pixels.data(), truths);
      cv::Mat times(size, size, CV_8U, cv::Scalar(0));
      for (const Truth& truth : truths) {
        const cv::Rect2f box = pixels_of(truth, size);
        const cv::Rect covered(cv::Point(cvRound(box.x), cvRound(box.y)),
                               cv::Point(cvRound(box.br().x), cvRound(box.br().y)));
        ASSERT_EQ(covered & cv::Rect(0, 0, size, size), covered);
        times(covered) += 1;
      }
      EXPECT_EQ(cv::countNonZero(times > 1), 0) << "sample " << i << ", jitter " << jitter;
      if (jitter > 0) continue;
      EXPECT_EQ(truths.size(), 4u);
      EXPECT_EQ(cv::countNonZero(times), size * size) << "sample " << i;
    }
  }
}

TEST(SampleMaker, ThePlainSampleIsTheWholeImage) {
  const Dataset dataset = draw_colors(test_folder());
  AugmentOptions options;
  options.flip = options.jitter = options.hue = 0;
  options.saturation = options.exposure = 1;
  ImageCache cache(dataset, 0, {});
  SampleMaker maker(dataset, options, cache);
  cv::Mat rgb(128, 128, CV_8UC3), expected;
  std::vector<Truth> truths;
  maker.make({5, 0, 0, 2, true}, 128, rgb.data, truths);
  const cv::Mat image = cv::imread(dataset.images[2].file.string());
  cv::resize(image, expected, rgb.size(), 0, 0, cv::INTER_AREA);
  cv::cvtColor(expected, expected, cv::COLOR_BGR2RGB);
  EXPECT_LT(cv::norm(rgb, expected, cv::NORM_L1) / static_cast<double>(rgb.total() * 3), 1.0);
  ASSERT_EQ(truths.size(), 3u);
  EXPECT_NEAR(truths[1].box.w * 240,
              dataset.images[2].annotations[1].x2 - dataset.images[2].annotations[1].x1, 1e-3);
}

TEST(SampleMaker, DependsOnItsNameAlone) {
  const Dataset dataset = draw_colors(test_folder());
  ImageCache cache(dataset, 0, {}), other_cache(dataset, 1 << 30, {});
  SampleMaker maker(dataset, everything(), cache), other(dataset, everything(), other_cache);
  std::vector<uint8_t> pixels(3 * 96 * 96), again(pixels.size()), changed(pixels.size());
  std::vector<Truth> truths;
  maker.make({5, 3, 17, 1, false}, 96, pixels.data(), truths);
  other.make({5, 2, 4, 0, false}, 96, again.data(), truths);  // leaves its traces in the scratch memory
  other.make({5, 3, 17, 1, false}, 96, again.data(), truths);
  EXPECT_TRUE(pixels == again);
  for (const SampleName& name :
       {SampleName{6, 3, 17, 1, false}, SampleName{5, 4, 17, 1, false}, SampleName{5, 3, 18, 1, false}}) {
    other.make(name, 96, changed.data(), truths);
    EXPECT_FALSE(pixels == changed);
  }
}

// The very samples of the first version: what is off must not change what is drawn. Pixels by their means,
// since rounding differs between processors.
TEST(SampleMaker, OptionsThatAreOffLeaveTheSamplesAsTheyWere) {
  const struct {
    float mean[3], left[3];  // of the channels, of the picture and of its left half
    std::vector<Box> boxes;
  } expected[] = {
      {{75.64f, 65.06f, 83.56f}, {78.04f, 78.04f, 78.04f}, {{0.6853f, 0.4355f, 0.2892f, 0.2895f}}},
      {{96.60f, 104.25f, 86.83f}, {90.63f, 100.61f, 77.88f}, {{0.4680f, 0.3906f, 0.2055f, 0.3202f}}},
      {{90.29f, 73.90f, 69.45f},
       {95.69f, 77.79f, 76.42f},
       {{0.2413f, 0.0290f, 0.1918f, 0.0581f},
        {0.3924f, 0.6819f, 0.3715f, 0.3020f},
        {0.9136f, 0.6878f, 0.1728f, 0.4758f}}},
      {{55.32f, 71.36f, 70.72f},
       {51.24f, 61.20f, 73.96f},
       {{0.1742f, 0.8604f, 0.3484f, 0.2792f},
        {0.1761f, 0.0908f, 0.3371f, 0.1816f},
        {0.1619f, 0.6077f, 0.3237f, 0.2555f},
        {0.7392f, 0.7839f, 0.2338f, 0.3515f}}}};
  const Dataset dataset = draw_dataset(test_folder(), 6);
  AugmentOptions options;
  options.mosaic = 0.6f;
  options.mixup = 0.4f;
  options.flip = 0.5f;
  options.jitter = 0.3f;
  options.resize = 1.3f;
  options.hue = 0.1f;
  options.saturation = options.exposure = 1.5f;
  options.min_visible = 0.2f;
  ImageCache cache(dataset, 0, {});
  SampleMaker maker(dataset, options, cache);
  cv::Mat rgb(64, 64, CV_8UC3);
  std::vector<Truth> truths;
  for (uint64_t i = 0; i < 4; ++i) {
    maker.make({9, 1, i, static_cast<int>(i), false}, 64, rgb.data, truths);
    const cv::Scalar mean = cv::mean(rgb), left = cv::mean(rgb.colRange(0, 32));
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(mean[c], expected[i].mean[c], 0.02) << i;
      EXPECT_NEAR(left[c], expected[i].left[c], 0.02) << i;
    }
    ASSERT_EQ(truths.size(), expected[i].boxes.size()) << i;
    for (size_t j = 0; j < truths.size(); ++j) {
      EXPECT_NEAR(truths[j].box.x, expected[i].boxes[j].x, 1e-4);
      EXPECT_NEAR(truths[j].box.y, expected[i].boxes[j].y, 1e-4);
      EXPECT_NEAR(truths[j].box.w, expected[i].boxes[j].w, 1e-4);
      EXPECT_NEAR(truths[j].box.h, expected[i].boxes[j].h, 1e-4);
    }
  }
}

// A sample for which an option draws nothing is that without the option, bit for bit.
TEST(SampleMaker, WhatIsNotDrawnChangesNothing) {
  const Dataset dataset = draw_colors(test_folder());
  ImageCache cache(dataset, 1 << 30, {});
  AugmentOptions options;
  options.mosaic = options.mixup = 0.5f;
  SampleMaker before(dataset, options, cache);
  std::vector<uint8_t> pixels(3 * 64 * 64), expected(pixels.size());
  std::vector<Truth> truths;
  for (float AugmentOptions::*option :
       {&AugmentOptions::vertical_flip, &AugmentOptions::quarter_turns, &AugmentOptions::blur,
        &AugmentOptions::blur_background, &AugmentOptions::noise, &AugmentOptions::grey,
        &AugmentOptions::cutout, &AugmentOptions::cutmix, &AugmentOptions::copy_paste}) {
    AugmentOptions rare = options;
    rare.*option = 0.3f;
    SampleMaker maker(dataset, rare, cache);
    int same = 0;
    for (uint64_t i = 0; i < 40; ++i) {
      before.make({5, 0, i, static_cast<int>(i % 6), false}, 64, expected.data(), truths);
      maker.make({5, 0, i, static_cast<int>(i % 6), false}, 64, pixels.data(), truths);
      same += pixels == expected;
    }
    EXPECT_GT(same, 3);
    EXPECT_LT(same, 38);
  }
}

TEST(SampleMaker, CutmixShowsARectangleOfAnotherSampleWithItsBoxes) {
  Dataset dataset = draw_colors(test_folder());
  for (ImageRecord& record : dataset.images) {  // each is one object from edge to edge
    record.annotations.resize(1);
    record.annotations[0].x1 = record.annotations[0].y1 = 0;
    record.annotations[0].x2 = static_cast<float>(record.width);
    record.annotations[0].y2 = static_cast<float>(record.height);
    record.annotations[0].class_id = static_cast<int>(&record - dataset.images.data());
  }
  AugmentOptions options;
  options.mosaic = options.jitter = 0;
  options.cutmix = 1;
  options.cutmix_size = {0.4f, 0.5f};
  options.min_visible = 0.1f;  // of the whole image that is cut
  ImageCache cache(dataset, 1 << 30, {});
  SampleMaker maker(dataset, options, cache);
  std::vector<uint8_t> pixels(3 * 100 * 100);
  std::vector<Truth> truths;
  for (uint64_t i = 0; i < 20; ++i) {
    const int image = static_cast<int>(i % 6);
    maker.make({5, 0, i, image, false}, 100, pixels.data(), truths);
    ASSERT_EQ(truths.size(), 2u);
    EXPECT_EQ(truths[0].class_id, image);
    EXPECT_EQ(truths[0].box.w, 1) << "it is covered in part, and still as large";
    EXPECT_GE(truths[1].box.w, 0.39f);
    EXPECT_LE(truths[1].box.h, 0.5001f);
    maker.make({5, 0, i, image, true}, 100, pixels.data(), truths);
    EXPECT_EQ(truths.size(), 1u) << "not in the plain samples of the last epochs";
  }
}

TEST(SampleMaker, PlainSamplesAreWholeImages) {
  const Dataset dataset = draw_colors(test_folder());
  AugmentOptions options;
  options.mosaic = 1;
  options.jitter = 0.3f, options.resize = 2, options.scale = 0.5f, options.translate = 0.3f;
  options.flip = 0;
  ImageCache cache(dataset, 1 << 30, {});
  SampleMaker maker(dataset, options, cache);
  std::vector<uint8_t> pixels(3 * 96 * 64);
  std::vector<Truth> truths;
  for (int image = 0; image < 6; ++image) {
    const ImageRecord& record = dataset.images[static_cast<size_t>(image)];
    maker.make({5, 0, static_cast<uint64_t>(image), image, true}, {96, 64}, pixels.data(), truths);
    ASSERT_EQ(truths.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const Annotation& object = record.annotations[i];
      EXPECT_NEAR(truths[i].box.x * static_cast<float>(record.width), (object.x1 + object.x2) / 2, 0.01);
      EXPECT_NEAR(truths[i].box.y * static_cast<float>(record.height), (object.y1 + object.y2) / 2, 0.01);
      EXPECT_NEAR(truths[i].box.w * static_cast<float>(record.width), object.x2 - object.x1, 0.01);
      EXPECT_NEAR(truths[i].box.h * static_cast<float>(record.height), object.y2 - object.y1, 0.01);
    }
  }
}

TEST(SampleMaker, CutoutCoversWithGreyAndDropsWhatItHides) {
  const Dataset dataset = draw_colors(test_folder());
  AugmentOptions options;
  options.mosaic = options.jitter = options.hue = 0;
  options.saturation = options.exposure = 1;
  options.cutout = 1;
  options.cutout_count = 1;
  options.cutout_size = {1, 1};
  ImageCache cache(dataset, 1 << 30, {});
  cv::Mat rgb(64, 64, CV_8UC3);
  std::vector<Truth> truths;
  SampleMaker(dataset, options, cache).make({5, 0, 0, 0, false}, 64, rgb.data, truths);
  EXPECT_EQ(cv::countNonZero(rgb.reshape(1) != fill_value), 0);
  EXPECT_TRUE(truths.empty());
  options.cutout_size = {0.2f, 0.4f};
  options.cutout_count = 6;
  SampleMaker maker(dataset, options, cache);
  for (uint64_t i = 0; i < 30; ++i) {
    maker.make({5, 0, i, static_cast<int>(i % 6), false}, 64, rgb.data, truths);
    for (const Truth& truth : truths) {
      const cv::Rect2f box = pixels_of(truth, 64);
      cv::Mat grey;
      cv::inRange(rgb(cv::Rect(box)), cv::Scalar::all(fill_value), cv::Scalar::all(fill_value), grey);
      EXPECT_LT(cv::countNonZero(grey), 0.7 * static_cast<double>(grey.total()));
    }
  }
}

// Grey pictures give the network what they give one for RGB, once. Of coloured ones it sees the brightness, which
// neither hue nor saturation changes.
TEST(SampleMaker, AGreySampleHasOneChannel) {
  const Dataset colored = draw_colors(test_folder());
  Dataset grey = colored;
  for (ImageRecord& record : grey.images) {
    cv::Mat image;
    cv::cvtColor(cv::imread(record.file.string()), image, cv::COLOR_BGR2GRAY);
    record.file.replace_filename("grey" + record.file.filename().string());
    cv::imwrite(record.file.string(), image);
  }
  AugmentOptions options = everything_askew();
  options.cutout = 0.5f;
  options.copy_paste = 0.5f;
  options.cutmix = 0.5f;
  const InputSize size(96, 160);
  const auto make = [&](const Dataset& dataset, const AugmentOptions& augment, int channels,
                        uint64_t number) {
    ImageCache cache(dataset, 1 << 30, {}, channels);
    SampleMaker maker(dataset, augment, cache);
    std::vector<uint8_t> pixels(static_cast<size_t>(channels * size.pixels()));
    std::vector<Truth> truths;
    maker.make({5, 0, number, static_cast<int>(number % dataset.images.size()), false}, size, pixels.data(),
               truths);
    return pixels;
  };
  AugmentOptions other_hues = options;
  other_hues.hue = 0.4f;
  other_hues.saturation = 3;
  options.noise = other_hues.noise = 0;  // of each channel its own
  for (uint64_t i = 0; i < 12; ++i) {
    const auto three = make(grey, options, 3, i), one = make(grey, options, 1, i);
    for (size_t k = 0; k < one.size(); ++k) ASSERT_EQ(one[k], three[3 * k]) << "sample " << i;
    const auto brightness = make(colored, other_hues, 1, i);
    for (size_t k = 0; k < one.size(); ++k)
      ASSERT_EQ(brightness[k], one[k]) << "sample " << i << ", value " << k;
  }
}

}  // namespace
}  // namespace brightnet
