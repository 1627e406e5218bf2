// The assignment's rules (docs/loss.md) on cases small enough to check by eye.
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/yolo_problem.h"

namespace brightnet {
namespace {

using Places = std::vector<std::vector<int>>;

// docs/loss.md states them: a model's YAML that leaves a key out gets these.
TEST(YoloHead, HasTheDefaultsOfTheDocumentation) {
  const YoloHead head;
  EXPECT_EQ(head.scale_xy, 1);
  EXPECT_FALSE(head.new_coords);
  EXPECT_EQ(head.ignore_threshold, 0.7f);
  EXPECT_EQ(head.truth_threshold, 1);
  EXPECT_EQ(head.assignment, AssignmentKind::best_anchor);
  EXPECT_EQ(head.anchor_ratio, 4);
  EXPECT_EQ(head.iou_threshold, 1);
  EXPECT_EQ(head.iou_kind, IouKind::ciou);
  EXPECT_EQ(head.box_weight, 1);
  EXPECT_EQ(head.objectness_weight, 1);
  EXPECT_EQ(head.class_weight, 1);
  EXPECT_EQ(head.negative_weight, 1);
  EXPECT_EQ(head.label_smoothing, 0);
  EXPECT_EQ(head.focal_gamma, 0);
  EXPECT_FALSE(head.objectness_smooth);
  EXPECT_EQ(head.objectness_gamma, 0);
  EXPECT_EQ(head.max_delta, 0);
}

TEST(YoloAssignment, ATruthGoesToItsBestAnchorInItsCell) {
  Problem problem;
  problem.truths[0] = {
      {{0.5f, 0.3f, 0.45f, 0.7f}, 1}};  // 72 × 90 pixels in column 2, row 1: the third anchor
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 2, 1}}));
  EXPECT_EQ(problem.loss.assigned, 1);
  EXPECT_LT(problem.gradient[problem.index(0, 1, 2, 1, 4)], 0);
  EXPECT_LT(problem.gradient[problem.index(0, 1, 2, 1, 5 + 1)], 0);
  EXPECT_GT(problem.gradient[problem.index(0, 1, 2, 1, 5 + 0)], 0);
}

TEST(YoloAssignment, ATruthOfAnotherHeadsAnchorIsNotThisHeads) {
  Problem problem;
  problem.truths[0] = {{{0.5f, 0.3f, 12 / 160.0f, 14 / 128.0f}, 1}};
  problem.run();
  EXPECT_TRUE(problem.assigned().empty());
  EXPECT_EQ(problem.loss.box + problem.loss.classes, 0);
}

TEST(YoloAssignment, FurtherAnchorsAboveTheThresholdAreAssignedToo) {
  Problem problem;
  // 52 × 50 pixels: IoU of sizes 1200/2600 = 0.46 with the second anchor, 2600/6300 = 0.41 with the third.
  problem.truths[0] = {{{0.5f, 0.3f, 52 / 160.0f, 50 / 128.0f}, 0}};
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 2, 0}}));
  problem.head.iou_threshold = 0.40f;
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 2, 0}, {0, 1, 2, 1}}));
  problem.head.iou_threshold = 0.42f;
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 2, 0}}));
}

/// 70 × 90 pixels, of the third anchor's size, with its centre at these cells.
Truth truth_at(float column, float row) {
  return {{column / 5, row / 4, 70 / 160.0f, 90 / 128.0f}, 1};
}

TEST(YoloAssignment, OfEqualAnchorsTheFirstTakesATruth) {
  Problem problem;
  problem.truths[0] = {truth_at(2.3f, 1.6f)};
  problem.head.anchors[1] = problem.head.anchors[2];
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 2, 0}}));
  problem.head.anchors[0] = problem.head.anchors[2];
  problem.run();
  EXPECT_TRUE(problem.assigned().empty()) << "the first is another head's";
}

TEST(YoloAssignment, NeighboursTakeTheCellsOnTheSidesOfTheCentre) {
  Problem problem;
  problem.head.assignment = AssignmentKind::neighbours;
  problem.head.anchor_ratio = 1.5f;
  problem.truths[0] = {truth_at(2.3f, 1.6f)};
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 1, 1}, {0, 1, 2, 1}, {0, 2, 2, 1}})) << "left of it and below";
  problem.truths[0] = {truth_at(2.7f, 1.2f)};
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 0, 2, 1}, {0, 1, 2, 1}, {0, 1, 3, 1}}))
      << "right of it and above";
}

TEST(YoloAssignment, NeighboursOutsideTheGridAreNone) {
  Problem problem;
  problem.head.assignment = AssignmentKind::neighbours;
  problem.head.anchor_ratio = 1.5f;
  problem.truths[0] = {truth_at(0.2f, 0.2f), truth_at(5.0f, 4.0f)};
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 0, 0, 1}, {0, 3, 4, 1}}));
}

TEST(YoloAssignment, NeighboursTakeEveryAnchorWithinTheRatioAndTheBestBeyondIt) {
  Problem problem;
  problem.head.assignment = AssignmentKind::neighbours;
  // 60 × 50 pixels: 1.5 and 1.67 times the second anchor's sides; the third's are 1.17 and 1.8 times these.
  problem.truths[0] = {{{0.5f, 0.375f, 60 / 160.0f, 50 / 128.0f}, 0}};
  const auto slots = [&](float ratio) {
    problem.head.anchor_ratio = ratio;
    problem.run();
    std::set<int> found;
    for (const auto& place : problem.assigned()) found.insert(place[3]);
    return found;
  };
  EXPECT_EQ(slots(1.9f), (std::set<int>{0, 1}));
  EXPECT_EQ(slots(1.6f), (std::set<int>{1})) << "the second anchor's sides are up to 1.67 times as long";
  EXPECT_EQ(slots(1.1f), (std::set<int>{1})) << "no anchor is near enough; the best takes it all the same";
}

TEST(YoloAssignment, SimotaTakesThePredictionsThatAreAlreadyClose) {
  Problem problem;
  problem.head.assignment = AssignmentKind::simota;
  problem.head.scale_xy = 2;
  problem.head.anchor_ratio = 1.5f;
  problem.truths[0] = {truth_at(2.5f - 1e-3f, 1.5f - 1e-3f)};
  // In its own cell the prediction is much too small; the one on the left lies on the truth.
  problem.predictions[problem.index(0, 1, 2, 1, 2)] = -3;
  problem.predictions[problem.index(0, 1, 1, 1, 0)] = 6;
  problem.predictions[problem.index(0, 0, 2, 1, 3)] = -3;
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 1, 1}}));
}

TEST(YoloAssignment, SimotaTakesAsManyPredictionsAsTheirIousSumTo) {
  Problem problem;
  problem.head.assignment = AssignmentKind::simota;
  problem.head.scale_xy = 2;
  problem.head.anchor_ratio = 1.5f;
  problem.truths[0] = {truth_at(2.5f - 1e-3f, 1.5f - 1e-3f)};
  problem.predictions[problem.index(0, 1, 1, 1, 0)] = 6;
  problem.predictions[problem.index(0, 0, 2, 1, 3)] = -3;
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 1, 1}, {0, 1, 2, 1}})) << "0.99 + 0.99 + 0.05";
  problem.predictions[problem.index(0, 1, 1, 1, 0)] = 3;
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 2, 1}})) << "0.99 + 0.92 + 0.05";
}

TEST(YoloAssignment, SimotaTakesTheMostConfidentOfPredictionsThatAllMissTheTruth) {
  Problem problem;
  problem.head.assignment = AssignmentKind::simota;
  problem.head.anchor_ratio = 1.5f;
  problem.head.anchors[2] = {4, 4};
  // Cells are 32 pixels wide: no box of 4 x 4 pixels in the middle of one reaches the truth.
  problem.truths[0] = {{{2.3f / 5, 1.6f / 4, 4 / 160.0f, 4 / 128.0f}, 1}};
  for (const auto& [row, column] : {std::pair(2, 2), {1, 1}, {1, 2}}) {  // below, left of it, its own
    const size_t objectness = problem.index(0, row, column, 1, 4);
    problem.predictions[objectness] = 3;
    problem.run();
    EXPECT_EQ(problem.assigned(), (Places{{0, row, column, 1}}));
    problem.predictions[objectness] = 0;
  }
}

TEST(YoloAssignment, CentresOnTheFarBorderBelongToTheLastCell) {
  Problem problem;
  problem.truths[0] = {{{1.0f, 1.0f, 0.45f, 0.7f}, 0}, {{0.0f, 0.0f, 0.45f, 0.7f}, 0}};
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 0, 0, 1}, {0, 3, 4, 1}}));
}

TEST(YoloAssignment, OfTwoTruthsForOnePredictionTheBetterFittingHasTheBoxAndBothTheirClasses) {
  Problem problem;
  const Truth better{{0.5f, 0.3f, 70 / 160.0f, 90 / 128.0f}, 2};
  const Truth worse{{0.45f, 0.35f, 75 / 160.0f, 80 / 128.0f}, 0};
  problem.truths[0] = {better};
  problem.run();
  const YoloLoss alone = problem.loss;
  for (const auto& order : {std::vector<Truth>{better, worse}, std::vector<Truth>{worse, better}}) {
    problem.truths[0] = order;
    problem.run();
    EXPECT_EQ(problem.loss.box, alone.box);
    EXPECT_EQ(problem.loss.assigned, 1);
    EXPECT_LT(problem.gradient[problem.index(0, 1, 2, 1, 5 + 2)], 0);
    EXPECT_LT(problem.gradient[problem.index(0, 1, 2, 1, 5 + 0)], 0);
    EXPECT_GT(problem.gradient[problem.index(0, 1, 2, 1, 5 + 1)], 0);
  }
}

TEST(YoloAssignment, OfEquallyFittingTruthsTheFirstHasTheBox) {
  Problem problem;
  const Truth first{{0.42f, 0.3f, 0.45f, 0.7f}, 0}, second{{0.58f, 0.3f, 0.45f, 0.7f}, 0};
  problem.truths[0] = {first, second};
  problem.run();
  EXPECT_GT(problem.gradient[problem.index(0, 1, 2, 1, 0)], 0) << "the prediction is to move left";
}

/// The prediction of (row 1, column 3, third anchor) lies exactly on a truth whose centre is the cell before.
Problem neighbour_of_a_truth() {
  Problem problem;
  const float x = 2.9999f / 5, y = 1.5f / 4;
  problem.truths[0] = {{{x, y, 70 / 160.0f, 90 / 128.0f}, 1}};
  problem.predictions[problem.index(0, 1, 3, 1, 0)] = -9.0f;
  return problem;
}

TEST(YoloAssignment, AnUnassignedPredictionNearATruthIsNotPushedToZero) {
  Problem problem = neighbour_of_a_truth();
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{0, 1, 2, 1}}));
  EXPECT_EQ(problem.gradient[problem.index(0, 1, 3, 1, 4)], 0);
  EXPECT_GT(problem.gradient[problem.index(0, 1, 3, 0, 4)], 0);
  problem.head.ignore_threshold = 1.0f;
  problem.run();
  EXPECT_GT(problem.gradient[problem.index(0, 1, 3, 1, 4)], 0);
}

TEST(YoloAssignment, ATruthThresholdPushesNearPredictionsToObject) {
  Problem problem = neighbour_of_a_truth();
  problem.head.truth_threshold = 0.9f;
  problem.run();
  EXPECT_EQ(problem.gradient[problem.index(0, 1, 3, 1, 4)], -0.5f);
  EXPECT_EQ(problem.loss.assigned, 1) << "objectness only: it has no box and class of its own";
  problem.head.ignore_threshold = 1.0f;
  problem.run();
  EXPECT_EQ(problem.gradient[problem.index(0, 1, 3, 1, 4)], -0.5f) << "it counts by itself";
}

TEST(YoloAssignment, TruthsOfOneImageDoNotTouchAnother) {
  Problem problem(3);
  problem.truths[1] = {{{0.5f, 0.3f, 0.45f, 0.7f}, 1}};
  problem.run();
  EXPECT_EQ(problem.assigned(), (Places{{1, 1, 2, 1}}));
}

TEST(YoloAssignment, TruthsWithoutAreaOrNumbersAreLeftOut) {
  Problem problem;
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  problem.run();
  const YoloLoss without = problem.loss;
  problem.truths[0] = {{{0.5f, 0.5f, 0, 0.2f}, 0},     {{0.5f, 0.5f, 0.2f, 0}, 0},
                       {{0.5f, 0.5f, -0.2f, 0.2f}, 0}, {{nan, 0.5f, 0.2f, 0.2f}, 0},
                       {{0.5f, inf, 0.2f, 0.2f}, 0},   {{0.5f, 0.5f, nan, 0.2f}, 0},
                       {{0.5f, 0.5f, 0.2f, inf}, 0}};
  problem.run();
  EXPECT_EQ(problem.loss.assigned, 0);
  EXPECT_EQ(problem.loss.objectness, without.objectness);
}

TEST(YoloAssignment, AClassThatTheHeadDoesNotHaveIsRefused) {
  Problem problem;
  problem.truths[0] = {{{0.5f, 0.5f, 0.2f, 0.2f}, 3}};
  EXPECT_THROW(problem.run(), std::logic_error);
}

}  // namespace
}  // namespace brightnet
