#include "detect/evaluate/confusion.h"

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

TEST(Confusion, CountsFromTheConfidenceOfTheBestF1) {
  DetectionEvaluator evaluator({"a"});
  evaluator.add(7, std::vector<ScoredBox>{{0, 0, 10, 10, 0, 0.1234f}},
                std::vector<Annotation>{truth(0, 0, 10, 10, 0)});
  evaluator.add(3, std::vector<ScoredBox>{{50, 0, 60, 10, 0, 0.12f}, {70, 0, 80, 10, 0, 0.05f}}, {});
  evaluator.add(5, {}, std::vector<Annotation>{truth(0, 0, 10, 10, 0)});
  const Metrics metrics = evaluator.finish();
  EXPECT_FLOAT_EQ(static_cast<float>(metrics.best.score), 0.123f) << "three digits say it";
  EXPECT_FLOAT_EQ(metrics.confusion.thresholds.score, 0.123f);
  EXPECT_EQ(metrics.confusion.counts, (std::vector<int64_t>{1, 0, 1, 0}));
  ASSERT_EQ(metrics.worst.size(), 3u);
  EXPECT_EQ(metrics.worst[0].id, 5)
      << "the missed object; the false alarms of image 3 are below the confidence";
  EXPECT_EQ(metrics.worst[1].id, 3) << "of equally good ones the first";
  EXPECT_TRUE(metrics.worst[1].boxes.empty());
  EXPECT_EQ(metrics.worst[2].boxes.size(), 1u);
}

TEST(Confusion, CountsFromDetectsOwnConfidenceWhereNothingWasFound) {
  DetectionEvaluator evaluator({"a"});
  evaluator.add(1, std::vector<ScoredBox>{{50, 0, 60, 10, 0, 0.3f}, {70, 0, 80, 10, 0, 0.2f}},
                std::vector<Annotation>{truth(0, 0, 10, 10, 0)});
  EXPECT_EQ(evaluator.finish().confusion.counts, (std::vector<int64_t>{0, 1, 1, 0}));
}

TEST(Confusion, LeavesCrowdsOut) {
  const std::vector<Annotation> truths{truth(200, 200, 400, 400, 0, true), truth(0, 0, 10, 10, 0, true)};
  ConfusionMatrix matrix(2);
  matrix.add(std::vector<ScoredBox>{{210, 210, 240, 240, 1, 0.9f}, {500, 0, 510, 10, 1, 0.9f}}, truths);
  EXPECT_EQ(matrix.counts, (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 0, 0, 0}));
}

TEST(Confusion, CountsAMatchFromAnIouOfOneHalfOn) {
  const std::vector<Annotation> truths{truth(0, 0, 10, 10, 0)};
  for (const auto& [height, matches] : {std::pair(5.0f, 1), {4.9f, 0}}) {
    ConfusionMatrix matrix(1);
    matrix.add(std::vector<ScoredBox>{{0, 0, 10, height, 0, 0.25f}}, truths);
    EXPECT_EQ(matrix.at(0, 0), matches) << height;
  }
}

}  // namespace
}  // namespace brightnet
