#include "data/loader/paste.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "data/loader/paint.h"
#include "tests/data/drawn_dataset.h"

namespace brightnet {
namespace {

constexpr int side_of_pasted = 128;

AugmentOptions pasting(float probability) {
  AugmentOptions options;
  options.jitter = options.hue = 0;
  options.saturation = options.exposure = 1;
  options.copy_paste = probability;
  options.copy_paste_count = 4;
  return options;
}

struct Pasted {
  cv::Mat rgb = cv::Mat(side_of_pasted, side_of_pasted, CV_8UC3, cv::Scalar::all(10));
  std::vector<Truth> truths;
};

class Paste : public ::testing::Test {
 protected:
  Pasted paste(const AugmentOptions& options, uint64_t number, std::vector<Truth> before = {}) {
    ImageCache cache(dataset_, 0, {});
    Painter painter(dataset_, cache);
    const ObjectPaster paster(dataset_, options);
    Random random(3, Purpose::test, 0, number);
    Pasted pasted;
    pasted.truths = std::move(before);
    std::vector<PlacedImage> images;
    paster(random, {}, side_of_pasted, images, pasted.truths);
    const PixelBlock out{pasted.rgb.data, pasted.rgb.step[0], side_of_pasted, side_of_pasted};
    for (const PlacedImage& image : images) painter.paint(image, painter.read(image), out);
    return pasted;
  }
  static cv::Rect2f pixels_of(const Box& box) {
    return {(box.x - box.w / 2) * side_of_pasted, (box.y - box.h / 2) * side_of_pasted,
            box.w * side_of_pasted, box.h * side_of_pasted};
  }

  Dataset dataset_ = draw_dataset(test_folder(), 6);  // one bright box each, on grey
};

TEST_F(Paste, NeverAndAlwaysAreWhatTheProbabilitiesSay) {
  std::set<size_t> counts;
  for (uint64_t i = 0; i < 40; ++i) {
    const Pasted none = paste(pasting(0), i), all = paste(pasting(1), i);
    EXPECT_TRUE(none.truths.empty());
    EXPECT_EQ(cv::countNonZero(none.rgb.reshape(1) != 10), 0);
    EXPECT_GT(all.truths.size(), 0u);
    counts.insert(all.truths.size());
  }
  EXPECT_EQ(*counts.rbegin(), 4u) << "copy_paste_count";
  EXPECT_GE(counts.size(), 3u);
}

// The objects are the only saturated colours.
TEST_F(Paste, EachBoxHasItsObjectAndTheRestIsAsItWas) {
  for (uint64_t i = 0; i < 20; ++i) {
    const Pasted pasted = paste(pasting(1), i);
    cv::Mat untouched(side_of_pasted, side_of_pasted, CV_8U, cv::Scalar(255));
    for (const Truth& truth : pasted.truths) {
      const cv::Rect2f box = pixels_of(truth.box);
      ASSERT_GE(box.x, -1e-3f);
      ASSERT_LE(box.br().x, side_of_pasted + 1e-3f);
      const cv::Rect inside(
          cv::Point(static_cast<int>(std::ceil(box.x)) + 1, static_cast<int>(std::ceil(box.y)) + 1),
          cv::Point(static_cast<int>(box.br().x) - 1, static_cast<int>(box.br().y) - 1));
      const cv::Scalar mean = cv::mean(pasted.rgb(inside));
      const double most = std::max({mean[0], mean[1], mean[2]});
      EXPECT_GT(most, 200) << "the soft edge of another may reach into it";
      EXPECT_LT(mean[0] + mean[1] + mean[2] - most, 30) << "one channel alone";
      // A tenth of the smaller side on, from 1 to 6 pixels, everything is as it was.
      const int edge =
          static_cast<int>(std::ceil(std::clamp(0.1f * std::min(box.width, box.height), 1.0f, 6.0f)));
      const cv::Rect around(inside.x - 2 - edge, inside.y - 2 - edge, inside.width + 4 + 2 * edge,
                            inside.height + 4 + 2 * edge);
      untouched(around & cv::Rect(0, 0, side_of_pasted, side_of_pasted)) = 0;
    }
    cv::Mat changed;
    cv::extractChannel(pasted.rgb != cv::Scalar::all(10), changed, 0);
    EXPECT_EQ(cv::countNonZero(changed & untouched), 0);
  }
}

TEST_F(Paste, ObjectsHideNoOthers) {
  AugmentOptions options = pasting(1);
  options.copy_paste_count = 20;
  const std::vector<Truth> before{{{0.3f, 0.3f, 0.4f, 0.4f}, 7}, {{0.8f, 0.7f, 0.05f, 0.05f}, 8}};
  for (const float most : {0.0f, 0.3f}) {
    options.copy_paste_overlap = most;
    float largest = 0;
    for (uint64_t i = 0; i < 20; ++i) {
      const Pasted pasted = paste(options, i, before);
      EXPECT_GT(pasted.truths.size(), 2u);
      for (size_t a = 0; a < pasted.truths.size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          const cv::Rect2f one = pixels_of(pasted.truths[a].box), other = pixels_of(pasted.truths[b].box);
          largest = std::max(largest, (one & other).area() / std::min(one.area(), other.area()));
        }
      }
    }
    EXPECT_LE(largest, most + 1e-3f);
    EXPECT_GE(largest, most * 0.7f);
  }
}

TEST_F(Paste, ABoxThatIsMostlyCoveredIsDroppedAsUnderACutout) {
  AugmentOptions options = pasting(1);
  options.copy_paste_count = 1;
  options.copy_paste_overlap = 1;
  const std::vector<Truth> before{{{0.5f, 0.5f, 0.06f, 0.06f}, 7}};
  int dropped = 0, kept = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Pasted pasted = paste(options, i, before);
    if (pasted.truths.size() < 2) {  // without a pasted object, or without the one below it
      dropped += pasted.truths.size() == 1 && pasted.truths[0].class_id != 7;
      continue;
    }
    const cv::Rect2f own = pixels_of(before[0].box), over = pixels_of(pasted.truths.back().box);
    EXPECT_EQ(pasted.truths[0].class_id, 7);
    EXPECT_LE((own & over).area(), (options.cutout_covered + 0.25f) * own.area()) << "whole pixels count";
    ++kept;
  }
  EXPECT_GT(dropped, 2);
  EXPECT_GT(kept, 100);
}

TEST_F(Paste, TheEdgeIsSoft) {
  int fading = 0;
  for (uint64_t i = 0; i < 10; ++i) {
    const Pasted pasted = paste(pasting(1), i);
    for (const Truth& truth : pasted.truths) {
      const cv::Rect2f box = pixels_of(truth.box);
      const int x = static_cast<int>(box.x) - 2, y = static_cast<int>(box.y + box.height / 2);
      if (x < 0) continue;
      // The pasted image's grey, 40 to 80, fades into the 10 that was there.
      const int nearer = pasted.rgb.at<cv::Vec3b>(y, x + 1)[1], farther = pasted.rgb.at<cv::Vec3b>(y, x)[1];
      fading += nearer - farther > 4 && nearer < 80;
    }
  }
  EXPECT_GT(fading, 5);
}

TEST_F(Paste, TheEdgeIsATenthOfTheObject) {
  AugmentOptions options = pasting(1);
  options.copy_paste_count = 1;
  int wide = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    const Pasted pasted = paste(options, i);
    if (pasted.truths.empty()) continue;
    const cv::Rect2f box = pixels_of(pasted.truths[0].box);
    const float edge = std::clamp(0.1f * std::min(box.width, box.height), 1.0f, 6.0f);
    const auto grey = [&, y = static_cast<int>(box.y + box.height / 2)](int x) {
      return pasted.rgb.at<cv::Vec3b>(y, x)[1];
    };
    int width = 0;
    for (int x = static_cast<int>(box.x) - 1; x >= 0 && grey(x) > 11; --x) ++width;
    EXPECT_LE(static_cast<float>(width), edge + 1) << i;
    wide += edge > 3 && static_cast<float>(width) > edge - 1.5f;
  }
  EXPECT_GT(wide, 5);
}

// What lies beside an object is pasted with it, and where that ends there is nothing to paste.
TEST_F(Paste, TheEdgeIsPartOfTheImage) {
  dataset_.images.resize(1);
  ImageRecord& record = dataset_.images[0];
  record.width = record.height = 64;  // half the input's
  Annotation& object = record.annotations.at(0);
  object.x1 = object.y1 = 0;
  object.x2 = object.y2 = 20;
  cv::imwrite(record.file.string(), cv::Mat(64, 64, CV_8UC3, cv::Scalar::all(240)));
  AugmentOptions options = pasting(1);
  options.copy_paste_count = 1;
  options.flip = 0;
  for (uint64_t i = 0; i < 10; ++i) {
    const Pasted pasted = paste(options, i);
    ASSERT_EQ(pasted.truths.size(), 1u);
    const cv::Rect2f box = pixels_of(pasted.truths[0].box);
    cv::Mat changed;
    cv::extractChannel(pasted.rgb != cv::Scalar::all(10), changed, 0);
    const cv::Rect touched = cv::boundingRect(changed);
    EXPECT_GE(touched.width, 39) << "as wide as the object";
    EXPECT_GE(touched.x, static_cast<int>(box.x + 1e-3f));
    EXPECT_GE(touched.y, static_cast<int>(box.y + 1e-3f));
  }
}

TEST_F(Paste, WithoutObjectsThereIsNothingToPaste) {
  for (ImageRecord& record : dataset_.images) record.annotations[0].crowd = true;
  EXPECT_TRUE(paste(pasting(1), 0).truths.empty());
  for (ImageRecord& record : dataset_.images) record.annotations.clear();
  EXPECT_TRUE(paste(pasting(1), 0).truths.empty());
}

TEST_F(Paste, ObjectsHaveColoursOfTheirOwn) {
  AugmentOptions options = pasting(1);
  options.copy_paste_count = 1;
  options.exposure = 3;
  double darkest = 255;
  for (uint64_t i = 0; i < 30; ++i) {
    const Pasted pasted = paste(options, i);
    if (pasted.truths.empty()) continue;
    const cv::Rect2f box = pixels_of(pasted.truths[0].box);
    const cv::Scalar mean = cv::mean(pasted.rgb(cv::Rect(cvRound(box.x) + 3, cvRound(box.y) + 3, 10, 10)));
    darkest = std::min(darkest, std::max({mean[0], mean[1], mean[2]}));
  }
  EXPECT_LT(darkest, 150) << "they are of 230 in their images";
}

/// Images of 100 × 100 pixels, each with two objects far apart, all of classes of their own. No file is read.
Dataset pairs_of_objects(int images) {
  Dataset dataset;
  for (int i = 0; i < images; ++i) {
    ImageRecord& record = dataset.images.emplace_back();
    record.width = record.height = 100;
    record.annotations = {{10, 10, 40, 30, 2 * i}, {60, 70, 90, 95, 2 * i + 1}};
  }
  return dataset;
}

TEST(PastedObjects, AreAllThoseOfAllImagesOrOfTheOnesNearby) {
  const Dataset dataset = pairs_of_objects(3);
  const AugmentOptions options = pasting(1);
  const ObjectPaster paster(dataset, options);
  const auto classes = [&](std::span<const uint32_t> nearby) {
    std::set<int> found;
    for (uint64_t i = 0; i < 100; ++i) {
      Random random(3, Purpose::test, 0, i);
      std::vector<PlacedImage> images;
      std::vector<Truth> truths;
      paster(random, nearby, InputSize(96, 160), images, truths);
      for (const auto& [box, class_id] : truths) {
        found.insert(class_id);
        EXPECT_GE(std::min(box.x - box.w / 2, box.y - box.h / 2), -1e-4f) << "outside of the input";
        EXPECT_LE(std::max(box.x + box.w / 2, box.y + box.h / 2), 1 + 1e-4f);
      }
    }
    return found;
  };
  EXPECT_EQ(classes({}), (std::set<int>{0, 1, 2, 3, 4, 5}));
  const uint32_t last_two[] = {1, 2};
  EXPECT_EQ(classes(last_two), (std::set<int>{2, 3, 4, 5}));
}

TEST(PastedObjects, HaveAtMostHalfTheInputsSides) {
  Dataset dataset = pairs_of_objects(1);
  AugmentOptions options = pasting(1);
  options.copy_paste_count = 1;
  const struct {
    float width, height;
    size_t pasted;
  } cases[] = {{49, 30, 1}, {51, 30, 0}, {30, 49, 1}, {30, 51, 0}};
  for (const auto& object : cases) {
    dataset.images[0].annotations = {{20, 20, 20 + object.width, 20 + object.height, 0}};
    const ObjectPaster paster(dataset, options);
    Random random(3, Purpose::test);
    std::vector<PlacedImage> images;
    std::vector<Truth> truths;
    paster(random, {}, InputSize(64, 128), images, truths);
    EXPECT_EQ(truths.size(), object.pasted) << object.width << " x " << object.height;
  }
}

/// Calls visit(images, truths) for what is pasted into samples of 128 × 128 pixels.
template <typename Visit>
void for_each_pasted_sample(const Dataset& dataset, const AugmentOptions& options, const Visit& visit) {
  const ObjectPaster paster(dataset, options);
  for (uint64_t i = 0; i < 40; ++i) {
    Random random(3, Purpose::test, 0, i);
    std::vector<PlacedImage> images;
    std::vector<Truth> truths;
    paster(random, {}, side_of_pasted, images, truths);
    visit(images, truths);
  }
}

TEST(PastedObjects, AreNoCrowdsOfImagesThatHaveOthersToo) {
  Dataset dataset = pairs_of_objects(2);
  for (ImageRecord& record : dataset.images) record.annotations[1].crowd = true;
  size_t pasted = 0;
  for_each_pasted_sample(dataset, pasting(1), [&](const auto& images, const auto& truths) {
    EXPECT_EQ(images.size(), truths.size()) << "each has its label";
    for (const PlacedImage& image : images) EXPECT_NEAR(image.box.height, 0.2f * side_of_pasted, 1e-3f);
    for (const Truth& truth : truths) EXPECT_EQ(truth.class_id % 2, 0);
    pasted += images.size();
  });
  EXPECT_GT(pasted, 20u);
}

TEST(PastedObjects, BringTheirNeighboursByTheShareThatIsVisibleOfThem) {
  Dataset dataset = pairs_of_objects(1);
  // A quarter of the second lies in the first, an eighth of the first in the second.
  dataset.images[0].annotations = {{20, 20, 60, 60, 0}, {55, 20, 75, 60, 1}};
  AugmentOptions options = pasting(1);
  options.copy_paste_count = 1;
  using Labels = std::set<std::vector<int>>;
  const auto labels = [&](float min_visible) {
    options.min_visible = min_visible;
    Labels found;
    for_each_pasted_sample(dataset, options, [&](const auto&, const auto& truths) {
      std::vector<int> classes;
      for (const Truth& truth : truths) classes.push_back(truth.class_id);
      found.insert(classes);
    });
    return found;
  };
  const std::vector<int> first{0}, second{1}, both{0, 1};
  EXPECT_EQ(labels(0.1f), (Labels{both}));
  EXPECT_EQ(labels(0.2f), (Labels{both, second}));
  EXPECT_EQ(labels(0.3f), (Labels{first, second}));
}

}  // namespace
}  // namespace brightnet
