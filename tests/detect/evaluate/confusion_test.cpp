#include "detect/evaluate/confusion.h"

#include <tuple>

#include <gtest/gtest.h>

#include "detect/evaluate/metrics.h"

namespace brightnet {
namespace {

Annotation truth(float x1, float y1, float x2, float y2, int class_id, bool crowd = false) {
  return {x1, y1, x2, y2, class_id, crowd, false, (x2 - x1) * (y2 - y1)};
}

TEST(Confusion, CountsEachObjectOnce) {
  const std::vector<Annotation> truths{truth(0, 0, 10, 10, 0), truth(20, 0, 30, 10, 1),
                                       truth(40, 0, 50, 10, 1)};
  const std::vector<ScoredBox> detections{
      {0, 0, 10, 9, 0, 0.9f},     // right
      {0, 0, 10, 8, 0, 0.95f},    // the same again at a worse IoU: background
      {20, 0, 30, 10, 0, 0.5f},   // takes a 1 for a 0
      {40, 0, 50, 10, 1, 0.2f}};  // below the score: its truth is missed
  ConfusionMatrix matrix(2);
  matrix.add(detections, truths);
  EXPECT_EQ(matrix.counts, (std::vector<int64_t>{1, 1, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(matrix.at(0, 2), 1);
  matrix.add(detections, truths);
  EXPECT_EQ(matrix.at(0, 0), 2);
}

TEST(Confusion, KeepsTheThresholdsItCountsBy) {
  const std::vector<Annotation> truths{truth(0, 0, 10, 10, 0)};
  const std::vector<ScoredBox> detections{{0, 0, 10, 6, 0, 0.4f}};  // an IoU of 0.6
  for (const auto& [score, iou, found] :
       {std::tuple(0.3f, 0.5f, 1), std::tuple(0.5f, 0.5f, 0), std::tuple(0.3f, 0.7f, 0)}) {
    DetectionEvaluator evaluator({"a"}, {.score = score, .iou = iou});
    evaluator.add(1, detections, truths);
    const ConfusionMatrix matrix = evaluator.finish().confusion;
    EXPECT_EQ(matrix.at(0, 0), found) << score << ' ' << iou;
    EXPECT_EQ(matrix.thresholds.score, score);
    EXPECT_EQ(matrix.thresholds.iou, iou);
  }
}

TEST(Confusion, LeavesCrowdsOut) {
  const std::vector<Annotation> truths{truth(200, 200, 400, 400, 0, true), truth(0, 0, 10, 10, 0, true)};
  ConfusionMatrix matrix(2);
  matrix.add(std::vector<ScoredBox>{{210, 210, 240, 240, 1, 0.9f}, {500, 0, 510, 10, 1, 0.9f}}, truths);
  EXPECT_EQ(matrix.counts, (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace brightnet
