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

cv::Rect2f pixels_of(const Truth& truth, int size) {
  const float side = static_cast<float>(size);
  return {(truth.box.x - truth.box.w / 2) * side, (truth.box.y - truth.box.h / 2) * side, truth.box.w * side,
          truth.box.h * side};
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
  const int size = rgb.cols;
  for (int channel = 0; channel < 3; ++channel) {
    const cv::Mat mask = mask_of(rgb, channel);
    for (size_t i = 0; i < truths.size(); ++i) {
      if (truths[i].class_id != channel) continue;
      const cv::Rect2f box = pixels_of(truths[i], size), around = widened(box, 5);
      const bool alone = std::none_of(truths.begin(), truths.end(), [&](const Truth& other) {
        return &other != &truths[i] && other.class_id == channel &&
               (pixels_of(other, size) & around).area() > 0;
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

TEST(SampleMaker, BoxesFollowPixelsWithEverythingOn) {
  const Dataset dataset = draw_colors(test_folder());
  for (const bool letterbox : {false, true}) {
    AugmentOptions options = everything();
    options.letterbox = letterbox;
    ImageCache cache(dataset, 1 << 30, {});
    SampleMaker maker(dataset, options, cache);
    constexpr int size = 256;
    cv::Mat rgb(size, size, CV_8UC3);
    std::vector<Truth> truths;
    Found found;
    for (uint64_t i = 0; i < 120; ++i) {
      maker.make({5, 0, i, static_cast<int>(i % dataset.images.size()), false}, size, rgb.data, truths);
      compare(rgb, truths, found);
    }
    EXPECT_GT(found.boxes, 200);
    EXPECT_GT(found.iou / found.boxes, 0.96);
    EXPECT_GT(found.worst, 0.8);
    EXPECT_EQ(found.unlabelled, 0);
  }
}

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

}  // namespace
}  // namespace brightnet
