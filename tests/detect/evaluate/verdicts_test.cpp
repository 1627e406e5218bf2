#include "detect/evaluate/verdicts.h"

#include <gtest/gtest.h>

#include "detect/evaluate/metrics.h"

namespace brightnet {
namespace {

Annotation truth(float x, int class_id, bool crowd = false) {
  return {x, 0, x + 10, 10, class_id, crowd, false, 100};
}

ScoredBox found(float x, int class_id, float score) {
  return {x, 0, x + 10, 10, class_id, score};
}

TEST(Verdicts, EveryBoxIsJudged) {
  const std::vector<Annotation> truths{truth(0, 0), truth(20, 1), truth(40, 0), truth(60, 0, true)};
  const std::vector<ScoredBox> boxes{
      found(1, 0, 0.5f),    // of the first object, but another one covers it better
      found(0, 0, 0.4f),    // it
      found(20, 0, 0.9f),   // a 1 taken for a 0
      found(100, 1, 0.8f),  // where nothing is
      found(60, 1, 0.9f),   // of a crowd
      found(40, 0, 0.1f)};  // below the confidence: its object is missed
  const ImageVerdicts verdicts = judge(boxes, truths, {.score = 0.25f, .iou = 0.5f});
  using enum Verdict;
  EXPECT_EQ(verdicts.detections,
            (std::vector{duplicate, correct, wrong_class, false_alarm, not_counted, not_counted}));
  EXPECT_EQ(verdicts.truths, (std::vector{correct, wrong_class, missed, not_counted}));
  EXPECT_EQ(verdicts.truth_of, (std::vector{-1, 0, 1, -1, -1, -1}));
  // One missed, one of a wrong class, a duplicate of 0.5 and a false alarm of 0.8.
  EXPECT_NEAR(verdicts.badness(boxes), 3.3, 1e-6);
}

TEST(Verdicts, AThresholdDecidesWhatIsAMatch) {
  const std::vector<Annotation> truths{truth(0, 0)};
  const std::vector<ScoredBox> boxes{found(5, 0, 0.9f)};  // an IoU of 1/3
  EXPECT_EQ(judge(boxes, truths, {.score = 0.25f, .iou = 0.3f}).detections[0], Verdict::correct);
  EXPECT_EQ(judge(boxes, truths, {.score = 0.25f, .iou = 0.35f}).detections[0], Verdict::false_alarm);
  const std::vector<ScoredBox> half{{0, 0, 10, 5, 0, 0.25f}};  // an IoU of 1/2, exactly
  EXPECT_EQ(judge(half, truths, {.score = 0.25f, .iou = 0.5f}).detections[0], Verdict::correct);
  EXPECT_EQ(judge({}, {}, {}).badness({}), 0);
}

std::vector<int64_t> order(const DetectionEvaluator& evaluator) {
  std::vector<int64_t> ids;
  for (const JudgedImage& image : evaluator.finish().worst) ids.push_back(image.id);
  return ids;
}

TEST(Verdicts, TheWorstImagesComeFirstForAnyOrderAndDivision) {
  const std::vector<Annotation> one{truth(0, 0)}, two{truth(0, 0), truth(20, 0)};
  // F1 is best at 0.9.
  const auto add = [&](DetectionEvaluator& evaluator, int64_t id) {
    switch (id) {
      case 0: evaluator.add(0, std::vector{found(0, 0, 0.9f)}, one); break;  // 0: correct
      case 1: evaluator.add(1, {}, two); break;                              // 2: two missed
      case 2:
        evaluator.add(2, std::vector{found(0, 0, 0.9f), found(50, 0, 0.7f)}, one);
        break;                                                                // 0: the false alarm is below
      case 3: evaluator.add(3, {}, one); break;                               // 1
      case 4: evaluator.add(4, std::vector{found(0, 1, 0.95f)}, one); break;  // 1: of a wrong class
      default: evaluator.add(id, {}, {}); break;
    }
  };
  const std::vector<std::string> classes{"a", "b"};
  DetectionEvaluator all(classes), backwards(classes), first(classes), second(classes);
  for (const int64_t id : {0, 1, 2, 3, 4}) add(all, id);
  EXPECT_EQ(order(all), (std::vector<int64_t>{1, 3, 4, 0, 2}));
  const auto worst = all.finish().worst;
  EXPECT_EQ(worst[4].boxes.size(), 1u) << "those below the confidence are not kept";
  EXPECT_EQ(worst[1].badness, 1);

  for (const int64_t id : {4, 3, 2, 1, 0}) add(backwards, id);
  EXPECT_EQ(order(backwards), order(all));
  for (const int64_t id : {0, 2, 4}) add(first, id);
  for (const int64_t id : {1, 3}) add(second, id);
  DetectionEvaluator merged = first;
  merged.merge(second.serialize());
  second.merge(first.serialize());
  EXPECT_EQ(order(merged), order(all));
  EXPECT_EQ(order(second), order(all));
  EXPECT_EQ(merged.serialize(), second.serialize());
  for (int64_t id = 5; id < 60; ++id) add(all, id);
  EXPECT_EQ(order(all).size(), pictured_images);
}

}  // namespace
}  // namespace brightnet
