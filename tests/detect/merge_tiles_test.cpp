#include "detect/merge_tiles.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TileOptions options_of(TileMerge merge, TileMatch match, float threshold = 0.5f) {
  TileOptions options;
  options.size = 100;
  options.merge = merge;
  options.match = match;
  options.threshold = threshold;
  return options;
}

void expect_boxes(const std::vector<ScoredBox>& boxes, const std::vector<ScoredBox>& expected) {
  ASSERT_EQ(boxes.size(), expected.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_EQ(boxes[i].x1, expected[i].x1) << i;
    EXPECT_EQ(boxes[i].y1, expected[i].y1) << i;
    EXPECT_EQ(boxes[i].x2, expected[i].x2) << i;
    EXPECT_EQ(boxes[i].y2, expected[i].y2) << i;
    EXPECT_EQ(boxes[i].class_id, expected[i].class_id) << i;
    EXPECT_EQ(boxes[i].score, expected[i].score) << i;
  }
}

// An object that an edge at x = 100 cuts: one tile has its left 10 of 40 pixels, the other all of it.
const ScoredBox part{90, 0, 100, 20, 0, 0.7f}, all{90, 0, 130, 20, 0, 0.9f};

TEST(MergeTiles, APartLiesInTheWholeByIosAndNotByIou) {
  expect_boxes(merge_tiles({part, all}, options_of(TileMerge::nms, TileMatch::ios), 10), {all});
  expect_boxes(merge_tiles({part, all}, options_of(TileMerge::nms, TileMatch::iou), 10), {all, part});
}

TEST(MergeTiles, NmmGrowsTheBestAroundTheOthersAndNmsDropsThem) {
  const ScoredBox left{0, 0, 60, 20, 0, 0.8f}, right{30, 0, 90, 22, 0, 0.6f};
  expect_boxes(merge_tiles({right, left}, options_of(TileMerge::nmm, TileMatch::ios), 10),
               {{0, 0, 90, 22, 0, 0.8f}});
  expect_boxes(merge_tiles({right, left}, options_of(TileMerge::nms, TileMatch::ios), 10), {left});
  expect_boxes(merge_tiles({right, left}, options_of(TileMerge::nmm, TileMatch::ios, 0.6f), 10),
               {left, right});
}

TEST(MergeTiles, OnlyWhatMatchesTheBestAndTheGrownBoxIsMerged) {
  // The second grows the first to 0…30; of the third, half lies in the first and more in what that has become. By IoU
  // the fourth, a half of the first, matches it and no longer the grown box: it is taken without a trace.
  const ScoredBox first{0, 0, 20, 10, 0, 0.9f}, second{5, 0, 30, 10, 0, 0.8f}, third{10, 0, 28, 10, 0, 0.7f};
  expect_boxes(merge_tiles({first, second, third}, options_of(TileMerge::nmm, TileMatch::ios), 10),
               {{0, 0, 30, 10, 0, 0.9f}});
  const ScoredBox half{-10, 0, 10, 20, 0, 0.5f};
  const auto by_iou = options_of(TileMerge::nmm, TileMatch::iou, 0.2f);
  expect_boxes(merge_tiles({first, {0, 0, 80, 10, 0, 0.8f}, half}, by_iou, 10), {{0, 0, 80, 10, 0, 0.9f}});
  // What only the grown box reaches stays.
  const ScoredBox beyond{26, 0, 40, 10, 0, 0.4f};
  expect_boxes(merge_tiles({first, second, beyond}, options_of(TileMerge::nmm, TileMatch::ios), 10),
               {{0, 0, 30, 10, 0, 0.9f}, beyond});
}

TEST(MergeTiles, ABoxOfFarLowerScoreDoesNotWidenTheBest) {
  const ScoredBox best{40, 40, 60, 60, 0, 0.9f}, around_all{0, 0, 100, 100, 0, 0.01f};
  expect_boxes(merge_tiles({best, around_all}, options_of(TileMerge::nmm, TileMatch::ios), 10), {best});
}

TEST(MergeTiles, IsDonePerClassAndKeepsTheBest) {
  ScoredBox other = part;
  other.class_id = 1;
  const auto options = options_of(TileMerge::nmm, TileMatch::ios);
  expect_boxes(merge_tiles({other, all}, options, 10), {all, other});
  expect_boxes(merge_tiles({other, all}, options, 1), {all});
  expect_boxes(merge_tiles({other, all}, options, 10, true), {all});
  EXPECT_TRUE(merge_tiles({}, options, 10).empty());
}

TEST(MergeTiles, ABoxOfHalfTheScoreStillWidensTheBest) {
  for (const float score : {0.4f, 0.39f}) {
    expect_boxes(merge_tiles({{0, 0, 60, 20, 0, 0.8f}, {30, 0, 90, 20, 0, score}},
                             options_of(TileMerge::nmm, TileMatch::ios), 10),
                 {{0, 0, score < 0.4f ? 60.0f : 90.0f, 20, 0, 0.8f}});
  }
}

TEST(MergeTiles, OfEqualScoresTheLowerClassIsFirst) {
  const ScoredBox one{0, 0, 10, 10, 1, 0.5f}, other{20, 0, 30, 10, 0, 0.5f}, third{40, 0, 50, 10, 1, 0.5f};
  expect_boxes(merge_tiles({one, other, third}, options_of(TileMerge::nmm, TileMatch::ios), 10),
               {other, one, third});
}

}  // namespace
}  // namespace brightnet
