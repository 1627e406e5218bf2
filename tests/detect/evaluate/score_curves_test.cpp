#include <cmath>

#include <gtest/gtest.h>

#include "detect/evaluate/metrics.h"

namespace brightnet {
namespace {

struct Detected {
  int class_id;
  float score;
  bool right;
};

/// Objects in a row, each found or not, and false alarms far from them.
Metrics metrics_of(const std::vector<Detected>& detected, const std::vector<int>& objects_of_class) {
  std::vector<std::string> names;
  for (size_t c = 0; c < objects_of_class.size(); ++c) names.push_back("class " + std::to_string(c));
  DetectionEvaluator evaluator(names);
  std::vector<Annotation> truths;
  std::vector<std::vector<float>> free(objects_of_class.size());
  float x = 0;
  for (size_t c = 0; c < objects_of_class.size(); ++c) {
    for (int i = 0; i < objects_of_class[c]; ++i, x += 20) {
      truths.push_back({x, 0, x + 10, 10, static_cast<int>(c), false, false, 100});
      free[c].push_back(x);
    }
  }
  std::vector<ScoredBox> boxes;
  for (const Detected& d : detected) {
    float left = x += 20;
    if (d.right) {
      left = free[static_cast<size_t>(d.class_id)].back();
      free[static_cast<size_t>(d.class_id)].pop_back();
    }
    boxes.push_back({left, 0, left + 10, 10, d.class_id, d.score});
  }
  evaluator.add(1, boxes, truths);
  return evaluator.finish();
}

TEST(ScoreCurves, AreCountsOfTheDetectionsAboveEachThreshold) {
  std::vector<Detected> detected;
  for (int i = 0; i < 60; ++i)
    detected.push_back({i % 2, static_cast<float>(i * 37 % 100) / 100, i * 31 % 7 < 4});
  const std::vector<int> objects{30, 25};
  const Metrics metrics = metrics_of(detected, objects);
  for (int c = 0; c < 2; ++c) {
    for (int point = 0; point < ScoreCurves::points; ++point) {
      double right = 0, all = 0;
      for (const Detected& d : detected) {
        if (d.class_id != c || d.score < static_cast<float>(ScoreCurves::score(point))) continue;
        ++all;
        right += d.right;
      }
      const ScoreCurves& curves = metrics.per_class[static_cast<size_t>(c)].by_score;
      EXPECT_FLOAT_EQ(curves.precision[static_cast<size_t>(point)], all > 0 ? right / all : 0)
          << c << ' ' << point;
      EXPECT_FLOAT_EQ(curves.recall[static_cast<size_t>(point)], right / objects[static_cast<size_t>(c)]);
    }
  }
}

TEST(ScoreCurves, TheBestPointHasTheBestMeanF1OfTheClassesWithObjects) {
  // Above 0.5 one class has F1 1 and the other 2/3; lower, the false alarms cost both more than they gain.
  const Metrics metrics = metrics_of({{0, 0.9f, true},
                                      {0, 0.6f, true},
                                      {1, 0.7f, true},
                                      {0, 0.4f, false},
                                      {0, 0.4f, false},
                                      {1, 0.4f, false},
                                      {1, 0.3f, true},
                                      {1, 0.3f, false}},
                                     {2, 2, 0});
  const OperatingPoint best = metrics.best;
  EXPECT_NEAR(best.f1, (1 + 2.0 / 3) / 2, 1e-6);
  EXPECT_NEAR(best.precision, 1, 1e-6);
  EXPECT_NEAR(best.recall, 0.75, 1e-6);
  EXPECT_NEAR(best.score, 0.6, 1e-6);
  EXPECT_EQ(metrics_of({}, {0, 0}).best.f1, 0);
}

/// The plots mark the best point on the line of the means.
TEST(ScoreCurves, HaveTheBestPointAsTheirMeanThoughAClassHasNoDetection) {
  const Metrics metrics = metrics_of({{0, 0.9f, true},
                                      {0, 0.6f, true},
                                      {0, 0.6f, false},
                                      {1, 0.2f, true},
                                      {1, 0.2f, false},
                                      {1, 0.2f, false}},
                                     {2, 4, 1, 0});
  const OperatingPoint best = metrics.best;
  const auto point = static_cast<size_t>(std::lround(best.score * (ScoreCurves::points - 1)));
  ASSERT_NEAR(ScoreCurves::score(static_cast<int>(point)), best.score, 1e-6);
  double precision = 0, recall = 0;
  for (const ClassMetrics& c : metrics.per_class) {
    if (c.truths == 0) continue;
    precision += c.by_score.precision[point] / 3;
    recall += c.by_score.recall[point] / 3;
  }
  EXPECT_NEAR(precision, best.precision, 1e-6);
  EXPECT_NEAR(recall, best.recall, 1e-6);
}

TEST(ScoreCurves, F1IsTheHarmonicMeanOfPrecisionAndRecall) {
  ScoreCurves curves;
  curves.precision[7] = 0.5f;
  curves.recall[7] = 0.25f;
  EXPECT_NEAR(curves.f1(7), 1 / 3.0, 1e-9);
  EXPECT_EQ(curves.f1(8), 0) << "of nothing";
  EXPECT_EQ(ScoreCurves::score(200), 1);
  EXPECT_EQ(ScoreCurves::score(50), 0.25);
}

}  // namespace
}  // namespace brightnet
