#include "detect/nms.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/random.h"
#include "layers/model/model.h"

namespace brightnet {
namespace {

TEST(Nms, IsTheModelsUnlessSaidOtherwise) {
  Model model;
  model.layers.emplace_back();
  auto& yolo = model.layers[0].attributes.emplace<YoloAttributes>();
  yolo.nms = NmsKind::diou;
  yolo.nms_beta = 0.8f;
  const NmsOptions of_model = for_model({.kind = NmsMethod::model, .iou = 0.3f}, model);
  EXPECT_EQ(of_model.kind, NmsMethod::diou);
  EXPECT_FLOAT_EQ(of_model.beta, 0.8f);
  EXPECT_FLOAT_EQ(of_model.iou, 0.3f);
  EXPECT_EQ(for_model({.kind = NmsMethod::greedy}, model).kind, NmsMethod::greedy);
  yolo.nms = NmsKind::greedy;
  EXPECT_EQ(for_model({.kind = NmsMethod::model}, model).kind, NmsMethod::greedy);
}

TEST(Nms, OverAllClassesKeepsTheBestOfBoxesThatOverlap) {
  const std::vector<Detection> boxes{{{0.5f, 0.5f, 0.2f, 0.2f}, 0, 0.6f},
                                     {{0.5f, 0.5f, 0.2f, 0.2f}, 1, 0.9f},
                                     {{0.1f, 0.1f, 0.1f, 0.1f}, 0, 0.5f}};
  EXPECT_EQ(non_max_suppression(boxes, {}).size(), 3u);
  const auto kept = non_max_suppression(boxes, {.class_agnostic = true});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].class_id, 1);
  EXPECT_EQ(kept[1].score, 0.5f);
}

/// The textbook's sweep over all pairs, in fp64.
std::vector<Detection> reference_nms(std::vector<Detection> boxes, const NmsOptions& options) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::vector<bool> gone(boxes.size());
  std::vector<Detection> kept;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (gone[i] || boxes[i].score < options.score) continue;
    if (kept.size() < size_t(options.max_detections)) kept.push_back(boxes[i]);
    for (size_t j = i + 1; j < boxes.size(); ++j) {
      const Box &a = boxes[i].box, &b = boxes[j].box;
      const auto overlap_1d = [](double ca, double sa, double cb, double sb) {
        return std::max(0.0, std::min(ca + sa / 2, cb + sb / 2) - std::max(ca - sa / 2, cb - sb / 2));
      };
      const auto span_1d = [](double ca, double sa, double cb, double sb) {
        return std::max(ca + sa / 2, cb + sb / 2) - std::min(ca - sa / 2, cb - sb / 2);
      };
      const double both = overlap_1d(a.x, a.w, b.x, b.w) * overlap_1d(a.y, a.h, b.y, b.h);
      double overlap = both / (double(a.w) * a.h + double(b.w) * b.h - both);
      if (options.kind == NmsMethod::diou) {
        const double d2 = std::pow(double(a.x) - b.x, 2) + std::pow(double(a.y) - b.y, 2);
        const double c2 = std::pow(span_1d(a.x, a.w, b.x, b.w), 2) + std::pow(span_1d(a.y, a.h, b.y, b.h), 2);
        overlap -= std::pow(d2 / c2, double(options.beta));
      }
      if (boxes[i].class_id == boxes[j].class_id && overlap > options.iou) gone[j] = true;
    }
  }
  return kept;
}

std::vector<Detection> random_detections(int count, uint64_t seed) {
  Random random(seed, Purpose::test);
  std::vector<Detection> boxes;
  for (int i = 0; i < count; ++i) {
    boxes.push_back({{random.uniform(0.2f, 0.5f), random.uniform(0.2f, 0.5f), random.uniform(0.05f, 0.3f),
                      random.uniform(0.05f, 0.3f)},
                     static_cast<int>(random.below(3)),
                     static_cast<float>(random.below(50)) / 50});
  }
  return boxes;
}

void expect_equal(const std::vector<Detection>& a, const std::vector<Detection>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].class_id, b[i].class_id);
    EXPECT_EQ(a[i].box.x, b[i].box.x);
    EXPECT_EQ(a[i].box.h, b[i].box.h);
  }
}

TEST(Nms, EqualsThePairwiseSweep) {
  for (const NmsMethod kind : {NmsMethod::greedy, NmsMethod::diou}) {
    for (float iou : {0.2f, 0.45f, 0.7f}) {
      for (int limit : {10, 1000}) {
        NmsOptions options{.kind = kind, .iou = iou, .score = 0.1f, .max_detections = limit};
        const std::vector<Detection> boxes = random_detections(600, 3);
        const std::vector<Detection> kept = non_max_suppression(boxes, options);
        EXPECT_LT(kept.size(), boxes.size());
        expect_equal(kept, reference_nms(boxes, options));
      }
    }
  }
}

TEST(Nms, DiouKeepsANeighbourThatGreedyTakesForTheSameObject) {
  // IoU = 6/14 = 0.43 for a shift of 0.4 widths; d²/c² = 0.16/2.96, to the power 0.6 = 0.17.
  const std::vector<Detection> boxes{{{0.5f, 0.5f, 0.1f, 0.1f}, 0, 0.9f},
                                     {{0.54f, 0.5f, 0.1f, 0.1f}, 0, 0.8f}};
  EXPECT_EQ(non_max_suppression(boxes, {.kind = NmsMethod::greedy, .iou = 0.4f}).size(), 1u);
  EXPECT_EQ(non_max_suppression(boxes, {.kind = NmsMethod::diou, .iou = 0.4f}).size(), 2u);
  EXPECT_EQ(non_max_suppression(boxes, {.kind = NmsMethod::diou, .iou = 0.25f}).size(), 1u);
}

TEST(Nms, ClassesDoNotSuppressEachOther) {
  const std::vector<Detection> boxes{{{0.5f, 0.5f, 0.1f, 0.1f}, 0, 0.8f},
                                     {{0.5f, 0.5f, 0.1f, 0.1f}, 1, 0.9f}};
  const std::vector<Detection> kept = non_max_suppression(boxes, {});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].class_id, 1);
}

TEST(Nms, DropsWhatIsNotABox) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<Detection> boxes{{{0.5f, 0.5f, 0.1f, 0.1f}, 0, nan}, {{nan, 0.5f, 0.1f, 0.1f}, 0, 0.9f},
                                     {{0.5f, 0.5f, inf, 0.1f}, 0, 0.9f}, {{0.5f, 0.5f, 0, 0.1f}, 0, 0.9f},
                                     {{0.5f, 0.5f, 0.1f, 0.1f}, 0, inf}, {{0.1f, 0.5f, 0.1f, 0.1f}, 0, 0.3f}};
  const std::vector<Detection> kept = non_max_suppression(boxes, {});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].box.x, 0.1f);
}

TEST(Nms, EqualScoresKeepTheirOrder) {
  std::vector<Detection> boxes;
  for (int i = 0; i < 8; ++i) boxes.push_back({{0.1f * i, 0.5f, 0.05f, 0.05f}, i % 3, 0.5f});
  expect_equal(non_max_suppression(boxes, {}), boxes);
}

// In powers of two, so that nothing is rounded: the boxes' IoU is exactly one half.
TEST(Nms, AnOverlapOfTheThresholdIsKeptAndSoIsAScoreOfIt) {
  const std::vector<Detection> boxes{{{0.375f, 0.5f, 0.75f, 0.5f}, 0, 0.5f},
                                     {{0.625f, 0.5f, 0.75f, 0.5f}, 0, 0.25f}};
  EXPECT_EQ(non_max_suppression(boxes, {.iou = 0.5f, .score = 0.25f}).size(), 2u);
  EXPECT_EQ(non_max_suppression(boxes, {.iou = 0.499f, .score = 0.25f}).size(), 1u);
  EXPECT_EQ(non_max_suppression(boxes, {.iou = 0.5f, .score = 0.251f}).size(), 1u);
}

}  // namespace
}  // namespace brightnet
