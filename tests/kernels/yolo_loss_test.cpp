// The whole YOLO loss: its value and gradient against an fp64 reference and finite differences in every
// configuration, its behaviour at the extremes, and that descending it finds boxes.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

#include "core/random.h"
#include "tests/kernels/yolo_problem.h"
#include "tests/kernels/yolo_reference.h"

namespace brightnet {
namespace {

/// Truths of all sizes all over the images, some of them in one cell.
void scatter_truths(Problem& problem, int per_image, uint64_t seed) {
  Random random(seed, Purpose::test);
  for (auto& image : problem.truths) {
    for (int i = 0; i < per_image; ++i) {
      const float w = random.uniform(0.05f, 0.6f), h = random.uniform(0.05f, 0.8f);
      const Box box{random.uniform(), random.uniform(), w, h};
      image.push_back({box, static_cast<int>(random.below(problem.head.classes))});
    }
    if (per_image > 0) {
      Truth twin = image.front();
      twin.box.w *= 0.97f;
      twin.class_id = (twin.class_id + 1) % problem.head.classes;
      image.push_back(twin);
    }
  }
}

void expect_matches_reference(Problem& problem) {
  problem.run();
  const reference::Loss reference(problem.head, problem.shape.n, problem.shape.h, problem.shape.w,
                                  problem.truths);
  std::vector<double> t(problem.predictions.begin(), problem.predictions.end());
  const auto targets = reference.targets(t);
  const reference::Sums sums = reference.sums(t, targets);
  EXPECT_NEAR(problem.loss.box, sums.box, 1e-5 * (1 + sums.box));
  EXPECT_NEAR(problem.loss.objectness, sums.objectness, 1e-5 * (1 + sums.objectness));
  EXPECT_NEAR(problem.loss.classes, sums.classes, 1e-5 * (1 + sums.classes));
  EXPECT_NEAR(problem.loss.iou, sums.iou, 1e-5 * (1 + sums.iou));
  EXPECT_EQ(problem.loss.assigned, sums.assigned);

  constexpr double step = 1e-6;
  int wrong = 0;
  for (size_t i = 0; i < t.size() && wrong < 5; ++i) {
    const double middle = t[i];
    t[i] = middle + step;
    const double above = reference.sums(t, targets).loss();
    t[i] = middle - step;
    const double below = reference.sums(t, targets).loss();
    t[i] = middle;
    const double expected = problem.scale.constant * (above - below) / (2 * step);
    const bool near = std::fabs(problem.gradient[i] - expected) <= 2e-5 + 2e-4 * std::fabs(expected);
    EXPECT_TRUE(near) << "logit " << i % problem.head.values() << " of prediction "
                      << i / problem.head.values() << ": " << problem.gradient[i]
                      << ", finite differences say " << expected;
    wrong += !near;
  }
}

class LossGradient : public ::testing::TestWithParam<std::tuple<IouKind, bool, int>> {};

TEST_P(LossGradient, EqualsFiniteDifferencesOfTheReference) {
  const auto [kind, new_coords, options] = GetParam();
  Problem problem(2, 3, 4);
  problem.head.iou_kind = kind;
  problem.head.new_coords = new_coords;
  problem.head.scale_xy = new_coords ? 2.0f : 1.05f;
  loss_option_sets[options].set(problem.head);
  problem.scale.constant = 0.25f;
  problem.randomize(11 + options, 0.8f);
  scatter_truths(problem, 7, 5);
  expect_matches_reference(problem);
}

std::string configuration_name(const ::testing::TestParamInfo<LossGradient::ParamType>& info) {
  const auto [kind, new_coords, options] = info.param;
  return loss_kind_name(kind, new_coords) + loss_option_sets[options].name;
}

INSTANTIATE_TEST_SUITE_P(
    EveryConfiguration, LossGradient,
    ::testing::Combine(::testing::Values(IouKind::mse, IouKind::iou, IouKind::giou, IouKind::diou,
                                         IouKind::ciou),
                       ::testing::Bool(), ::testing::Range(0, static_cast<int>(std::size(loss_option_sets)))),
    configuration_name);

TEST(YoloLoss, MatchesTheReferenceOfEachAssignmentWithManyTruths) {
  for (const AssignmentKind assignment : {AssignmentKind::neighbours, AssignmentKind::simota}) {
    SCOPED_TRACE(enum_name(assignment));
    Problem problem(2, 9, 7);
    problem.head.assignment = assignment;
    problem.head.scale_xy = 2;
    problem.head.new_coords = true;
    problem.head.objectness_smooth = true;
    problem.randomize(71, 0.8f);
    scatter_truths(problem, 40, 72);
    expect_matches_reference(problem);
    EXPECT_GT(problem.loss.assigned, 40);
  }
}

TEST(YoloLoss, MatchesTheReferenceOnRowsLongerThanAChunk) {
  Problem problem(1, 2, 70, 2);
  problem.head.ignore_threshold = 0.2f;
  problem.randomize(3, 0.5f);
  scatter_truths(problem, 20, 9);
  expect_matches_reference(problem);
}

TEST(YoloLoss, MatchesTheReferenceWithMoreClassesThanAChunk) {
  Problem problem(1, 2, 2, 81);
  problem.randomize(4, 0.5f);
  scatter_truths(problem, 4, 2);
  problem.truths[0].push_back({{0.7f, 0.7f, 0.5f, 0.6f}, 80});
  expect_matches_reference(problem);
}

// Values.

TEST(YoloLoss, OfAnImageWithoutTruthsIsItsObjectnessAlone) {
  Problem problem;
  problem.scale.constant = 0.5f;
  problem.run();
  const int predictions = 4 * 5 * 2;
  EXPECT_NEAR(problem.loss.objectness, predictions * std::log(2.0), 1e-5);
  EXPECT_EQ(problem.loss.box + problem.loss.classes + problem.loss.assigned, 0);
  for (size_t i = 0; i < problem.gradient.size(); ++i)
    ASSERT_EQ(problem.gradient[i], i % problem.head.values() == 4 ? 0.25f : 0.0f);
}

TEST(YoloLoss, MatchesTheReferenceWithThreeHundredTruths) {
  Problem problem(1, 13, 13);
  problem.head.iou_threshold = 0.213f;
  problem.head.ignore_threshold = 0.5f;
  problem.randomize(21, 0.5f);
  scatter_truths(problem, 300, 22);
  problem.run();
  const reference::Loss reference(problem.head, 1, 13, 13, problem.truths);
  const std::vector<double> t(problem.predictions.begin(), problem.predictions.end());
  const reference::Sums sums = reference.sums(t, reference.targets(t));
  EXPECT_GT(sums.assigned, 150);
  EXPECT_EQ(problem.loss.assigned, sums.assigned);
  EXPECT_NEAR(problem.loss.box, sums.box, 1e-5 * sums.box);
  EXPECT_NEAR(problem.loss.classes, sums.classes, 1e-5 * sums.classes);
  EXPECT_NEAR(problem.loss.objectness, sums.objectness, 1e-5 * sums.objectness);
}

TEST(YoloLoss, MultipliesItsGradientByTheScaleInMemoryAndAddsItsSumsToTheTotals) {
  Problem problem(2, 5, 3);
  problem.randomize(61, 0.5f);
  scatter_truths(problem, 4, 62);
  problem.scale.constant = 0.5f;
  problem.run();
  const std::vector<float> gradient = problem.gradient;
  const YoloLoss loss = problem.loss;
  const float scale = 64;
  LossTotals totals{.box = 1, .objectness = 2, .classes = 3, .iou = 4, .assigned = 5, .images = 6};
  problem.scale.dynamic = &scale;
  problem.totals = &totals;
  problem.run();
  for (size_t i = 0; i < gradient.size(); ++i) ASSERT_EQ(problem.gradient[i], 64 * gradient[i]);
  EXPECT_EQ(problem.loss.box, loss.box) << "the loss itself is not scaled";
  EXPECT_EQ(totals.box, 1.0 + loss.box);
  EXPECT_EQ(totals.objectness, 2.0 + loss.objectness);
  EXPECT_EQ(totals.classes, 3.0 + loss.classes);
  EXPECT_EQ(totals.iou, 4.0 + loss.iou);
  EXPECT_EQ(totals.assigned, 5.0 + loss.assigned);
  EXPECT_EQ(totals.images, 6) << "which a model of several heads would count several times";
}

TEST(YoloLoss, MaxDeltaClipsTheBoxGradientAndNothingElse) {
  Problem problem;
  problem.truths[0] = {{{0.5f, 0.3f, 0.3f, 0.7f}, 1}};
  problem.run();
  const std::vector<float> whole = problem.gradient;
  const YoloLoss loss = problem.loss;
  problem.head.max_delta = 0.05f;
  problem.scale.constant = 0.5f;
  problem.run();
  EXPECT_EQ(problem.loss.box, loss.box);
  int clipped = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool is_box = i % problem.head.values() < 4;
    const float expected = is_box ? std::clamp(whole[i], -0.05f, 0.05f) : whole[i];
    ASSERT_FLOAT_EQ(problem.gradient[i], 0.5f * expected);
    clipped += expected != whole[i];
  }
  EXPECT_GT(clipped, 0);
}

TEST(YoloLoss, IsTheSameToTheBitForAnyNumberOfThreads) {
  Problem problem(3, 13, 13);
  problem.randomize(31, 1.0f);
  scatter_truths(problem, 30, 32);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  problem.run();
  const std::vector<float> gradient = problem.gradient;
  const YoloLoss loss = problem.loss;
  for (int n : {2, 3, 8}) {
    omp_set_num_threads(n);
    problem.run();
    EXPECT_EQ(problem.gradient, gradient) << n << " threads";
    EXPECT_EQ(problem.loss.box, loss.box);
    EXPECT_EQ(problem.loss.objectness, loss.objectness);
    EXPECT_EQ(problem.loss.classes, loss.classes);
    EXPECT_EQ(problem.loss.iou, loss.iou);
  }
  omp_set_num_threads(threads);
}

// The arithmetic is fp32 in both, so on the same numbers only the gradient's rounding (2⁻⁸) may show.
TEST(YoloLoss, OfBFloat16PredictionsDiffersByTheGradientsRoundingOnly) {
  Problem problem(2, 13, 13);
  problem.randomize(41, 1.0f);
  scatter_truths(problem, 10, 42);
  for (float& t : problem.predictions) t = static_cast<float>(BFloat16(t));
  problem.run<float>();
  const std::vector<float> gradient = problem.gradient;
  const YoloLoss loss = problem.loss;
  problem.run<BFloat16>();
  EXPECT_NEAR(problem.loss.box, loss.box, 1e-6 * loss.box);
  EXPECT_NEAR(problem.loss.objectness, loss.objectness, 1e-6 * loss.objectness);
  EXPECT_NEAR(problem.loss.classes, loss.classes, 1e-6 * loss.classes);
  for (size_t i = 0; i < gradient.size(); ++i)
    ASSERT_NEAR(problem.gradient[i], gradient[i], 1e-7 + std::fabs(gradient[i]) / 256);
}

// Extremes.

class Extremes : public ::testing::TestWithParam<std::tuple<IouKind, bool, float>> {};

TEST_P(Extremes, StayFinite) {
  const auto [kind, new_coords, size] = GetParam();
  Problem problem(2);
  problem.head.iou_kind = kind;
  problem.head.new_coords = new_coords;
  problem.head.iou_threshold = 0.01f;
  problem.head.focal_gamma = 0.5f;
  problem.head.objectness_smooth = true;
  Random random(51, Purpose::test);
  for (float& t : problem.predictions) t = random.chance(0.5f) ? size : random.chance(0.5f) ? -size : 0.0f;
  scatter_truths(problem, 20, 52);
  problem.truths[0].push_back({{0.5f, 0.5f, 1e-7f, 1e-7f}, 0});
  problem.truths[0].push_back({{0.1f, 0.1f, FLT_MIN, 1.0f}, 0});
  problem.truths[1].push_back({{0.5f, 0.5f, 9000.0f, 9000.0f}, 0});
  problem.run();
  EXPECT_TRUE(std::isfinite(problem.loss.box));
  EXPECT_TRUE(std::isfinite(problem.loss.objectness));
  EXPECT_TRUE(std::isfinite(problem.loss.classes));
  EXPECT_TRUE(std::isfinite(problem.loss.iou));
  for (float g : problem.gradient) ASSERT_TRUE(std::isfinite(g));
  for (size_t i = 4; i < problem.gradient.size(); i += problem.head.values())
    ASSERT_LE(std::fabs(problem.gradient[i]), 1.0f);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, Extremes,
                         ::testing::Combine(::testing::Values(IouKind::mse, IouKind::iou, IouKind::giou,
                                                              IouKind::diou, IouKind::ciou),
                                            ::testing::Bool(),
                                            ::testing::Values(10.0f, 88.0f, 1e4f, FLT_MAX)));

TEST(YoloLoss, DoesNotHideANaN) {
  Problem problem;
  problem.predictions[problem.index(0, 2, 3, 0, 4)] = std::numeric_limits<float>::quiet_NaN();
  problem.run();
  EXPECT_TRUE(std::isnan(problem.loss.objectness));
}

TEST(YoloLoss, ReportsAnObjectItIsSureNotToSeeAtItsFullPrice) {
  Problem problem;
  problem.truths[0] = {{{0.5f, 0.3f, 0.45f, 0.7f}, 1}};
  for (size_t i = 4; i < problem.predictions.size(); i += problem.head.values())
    problem.predictions[i] = -1e4f;
  problem.run();
  EXPECT_FLOAT_EQ(problem.loss.objectness, 1e4f);
  EXPECT_EQ(problem.gradient[problem.index(0, 1, 2, 1, 4)], -1.0f);
}

// Learning.

/// Many steps of a tiny problem: on one thread, because waking others takes longer than the work.
class Descent : public ::testing::TestWithParam<std::tuple<IouKind, bool>> {
 protected:
  void SetUp() override { omp_set_num_threads(1); }
  void TearDown() override { omp_set_num_threads(threads_); }

 private:
  int threads_ = omp_get_max_threads();
};

TEST_P(Descent, FindsTheBox) {
  const auto [kind, new_coords] = GetParam();
  Problem problem;
  problem.head.iou_kind = kind;
  problem.head.new_coords = new_coords;
  problem.head.scale_xy = new_coords ? 2.0f : 1.05f;
  problem.truths[0] = {{{0.45f, 0.3f, 0.62f, 0.45f}, 1}};
  float first = 0;
  constexpr int steps = 400;
  for (int step = 0; step < steps; ++step) {
    // An IoU's derivative is not small even next to its maximum, so the step has to become small.
    const float rate = 0.2f * static_cast<float>(steps - step) / steps;
    problem.run();
    if (step == 0) first = problem.loss.box;
    for (size_t i = 0; i < problem.predictions.size(); ++i)
      problem.predictions[i] -= rate * problem.gradient[i];
  }
  EXPECT_GT(problem.loss.iou, 0.95f);
  EXPECT_LT(problem.loss.box, first / 4);
  EXPECT_GT(problem.predictions[problem.index(0, 1, 2, 1, 4)], 2.0f);
  EXPECT_LT(problem.predictions[problem.index(0, 3, 0, 1, 4)], -2.0f);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, Descent,
                         ::testing::Combine(::testing::Values(IouKind::mse, IouKind::iou, IouKind::giou,
                                                              IouKind::diou, IouKind::ciou),
                                            ::testing::Bool()));

}  // namespace
}  // namespace brightnet
