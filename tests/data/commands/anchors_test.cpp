#include "data/commands/anchors.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <omp.h>

#include "core/error.h"
#include "core/random.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

// Images of 200 x 100 with boxes around the given shapes, `spread` of their sides apart.
Dataset clusters(const std::vector<BoxShape>& centres, int each, float spread) {
  Random random(1, Purpose::test);
  Dataset dataset;
  for (int i = 0; i < each; ++i) {
    ImageRecord image;
    image.width = 200;
    image.height = 100;
    for (const auto& centre : centres) {
      Annotation a;
      a.x2 = static_cast<float>(centre.width) * (1 + random.uniform(-spread, spread));
      a.y2 = static_cast<float>(centre.height) * (1 + random.uniform(-spread, spread));
      image.annotations.push_back(a);
    }
    dataset.images.push_back(image);
  }
  return dataset;
}

AnchorOptions options(int count, int size, bool letterbox = false) {
  AnchorOptions out;
  out.count = count;
  out.size = size;
  out.letterbox = letterbox;
  return out;
}

TEST(Anchors, IouOfShapesIsThatOfBoxesOnOneCentre) {
  EXPECT_DOUBLE_EQ(shape_iou({10, 10}, {10, 10}), 1);
  EXPECT_DOUBLE_EQ(shape_iou({10, 20}, {20, 10}), 100.0 / 300);
  EXPECT_DOUBLE_EQ(shape_iou({10, 10}, {5, 5}), 0.25);
}

TEST(Anchors, SeparateClustersAreFoundInUnitsOfTheNetworksInput) {
  const Dataset dataset = clusters({{100, 10}, {40, 50}, {4, 4}}, 60, 0.1f);
  const AnchorResult stretched = find_anchors(dataset, options(3, 400));  // x doubles, y becomes four times
  const BoxShape expected[] = {{8, 16}, {200, 40}, {80, 200}};
  ASSERT_EQ(stretched.anchors.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(stretched.anchors[i].width, expected[i].width, 0.04 * expected[i].width);
    EXPECT_NEAR(stretched.anchors[i].height, expected[i].height, 0.04 * expected[i].height);
  }
  EXPECT_GT(stretched.mean_iou, 0.85);
  EXPECT_EQ(stretched.recall_50, 1);
  EXPECT_EQ(stretched.boxes, 180u);
  const AnchorResult letterboxed = find_anchors(dataset, options(3, 400, true));  // both double
  EXPECT_NEAR(letterboxed.anchors[0].width, 8, 0.4);
  EXPECT_NEAR(letterboxed.anchors[0].height, 8, 0.4);
}

TEST(Anchors, OneAnchorIsTheMeanShape) {
  Dataset dataset = clusters({{40, 40}, {80, 60}}, 1, 0);
  const AnchorResult result = find_anchors(dataset, options(1, 100, true));
  const double mean_iou = result.mean_iou;
  // Nothing beats what was returned among the boxes and their mean.
  for (const BoxShape a : {BoxShape{20, 20}, BoxShape{40, 30}, BoxShape{30, 25}})
    EXPECT_LE((shape_iou(a, {20, 20}) + shape_iou(a, {40, 30})) / 2, mean_iou + 1e-12);
}

TEST(Anchors, MeanIouAndRecallAreThoseOfTheReturnedAnchors) {
  const Dataset dataset = clusters({{30, 30}, {60, 20}, {12, 70}}, 40, 0.5f);
  const AnchorResult result = find_anchors(dataset, options(2, 100));
  double sum = 0;
  int above = 0, boxes = 0;
  for (const auto& image : dataset.images) {
    for (const auto& a : image.annotations) {
      double best = 0;
      for (const auto& anchor : result.anchors)
        best = std::max(best, shape_iou(anchor, {a.x2 * 0.5, a.y2 * 1.0}));
      sum += best;
      above += best > 0.5;
      ++boxes;
    }
  }
  EXPECT_NEAR(result.mean_iou, sum / boxes, 1e-9);
  EXPECT_NEAR(result.recall_50, static_cast<double>(above) / boxes, 1e-9);
}

TEST(Anchors, SameSeedSameAnchorsForAnyNumberOfThreads) {
  const Dataset dataset = clusters({{30, 30}, {60, 20}, {12, 70}}, 100, 0.6f);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const AnchorResult one = find_anchors(dataset, options(6, 416));
  omp_set_num_threads(5);
  const AnchorResult five = find_anchors(dataset, options(6, 416));
  omp_set_num_threads(before);
  EXPECT_EQ(one.json(), five.json());
}

TEST(Anchors, MoreAnchorsFitBetter) {
  const Dataset dataset = clusters({{30, 30}, {60, 20}, {12, 70}, {90, 80}}, 50, 0.5f);
  double previous = 0;
  for (const int count : {1, 2, 4, 9}) {
    const AnchorResult result = find_anchors(dataset, options(count, 416));
    EXPECT_GT(result.mean_iou, previous);
    previous = result.mean_iou;
    for (size_t i = 1; i < result.anchors.size(); ++i) {
      const BoxShape &a = result.anchors[i - 1], &b = result.anchors[i];
      EXPECT_LE(a.width * a.height, b.width * b.height);
    }
  }
}

TEST(Anchors, CrowdsDoNotCount) {
  Dataset dataset = clusters({{20, 20}, {90, 90}}, 5, 0.01f);
  for (auto& image : dataset.images) image.annotations[1].crowd = true;
  EXPECT_EQ(find_anchors(dataset, options(1, 100)).boxes, 5u);
}

void expect_sorted_different_and_inside(const AnchorResult& result, int count, int size) {
  ASSERT_EQ(std::ssize(result.anchors), count);
  for (size_t i = 0; i < result.anchors.size(); ++i) {
    const BoxShape& b = result.anchors[i];
    EXPECT_EQ(b.width, std::round(b.width));
    EXPECT_EQ(b.height, std::round(b.height));
    EXPECT_GE(std::min(b.width, b.height), 1);
    EXPECT_LE(std::max(b.width, b.height), size);
    if (i == 0) continue;
    const BoxShape& a = result.anchors[i - 1];
    EXPECT_LE(a.width * a.height, b.width * b.height);
    EXPECT_TRUE(a.width != b.width || a.height != b.height) << i;
  }
}

bool has(const AnchorResult& result, double width, double height) {
  return std::any_of(result.anchors.begin(), result.anchors.end(),
                     [&](const BoxShape& a) { return a.width == width && a.height == height; });
}

TEST(Anchors, ShapesAreAddedAroundOneShape) {
  const AnchorResult result = find_anchors(clusters({{50, 25}}, 10, 0), options(6, 200, true));
  expect_sorted_different_and_inside(result, 6, 200);
  EXPECT_TRUE(has(result, 50, 25));
  EXPECT_TRUE(has(result, 71, 35));  // half an octave up
  EXPECT_TRUE(has(result, 35, 18));  // and down
  EXPECT_EQ(result.filled, 5);
  EXPECT_DOUBLE_EQ(result.mean_iou, 1);
  EXPECT_TRUE(contains(result.text(), "; 5 shapes added to the 1 that the data has\n"));
}

TEST(Anchors, AWideGapBetweenTheShapesIsFilledFirst) {
  const AnchorResult result = find_anchors(clusters({{4, 4}, {64, 64}}, 10, 0), options(5, 200, true));
  expect_sorted_different_and_inside(result, 5, 200);
  for (const double side : {4, 8, 16, 32, 64}) EXPECT_TRUE(has(result, side, side)) << side;
}

TEST(Anchors, AddedShapesStayInTheInputAndDifferentInWholePixels) {
  for (const int size : {16, 64, 200}) {
    for (const BoxShape shape : {BoxShape{200, 100}, BoxShape{1, 1}, BoxShape{200, 2}, BoxShape{90, 90}}) {
      SCOPED_TRACE(std::to_string(size) + " " + std::to_string(shape.width));
      const Dataset dataset = clusters({shape}, 3, 0);
      expect_sorted_different_and_inside(find_anchors(dataset, options(9, size)), 9, size);
    }
  }
  // Boxes of many shapes that are one in whole pixels.
  expect_sorted_different_and_inside(find_anchors(clusters({{30, 15}}, 50, 0.3f), options(6, 8)), 6, 8);
}

TEST(Anchors, NoBoxAndNoRoomAreErrors) {
  EXPECT_THROW(find_anchors(Dataset{}, options(1, 416)), InputError);
  EXPECT_THROW(find_anchors(clusters({{20, 20}, {40, 30}}, 10, 0.3f), options(6, 1)), InputError);
}

TEST(Anchors, TextIsWhatAModelFileTakes) {
  AnchorResult result;
  result.anchors = {{10, 15}, {1, 300}};
  result.size = {96, 160};
  result.boxes = 12;
  result.mean_iou = 0.75;
  result.recall_50 = 0.9;
  EXPECT_EQ(
      result.text(),
      "anchors: [[10, 15], [1, 300]]\n# of 12 boxes, for an input of 96x160 (height x width): mean best IoU "
      "0.750, 90.0 % above 0.5\n");
  EXPECT_EQ(
      result.json(),
      nlohmann::json::parse(R"({"anchors": [[10, 15], [1, 300]], "size": [96, 160], "filled": 0, "boxes": 12,
                                                     "mean_iou": 0.75, "recall_50": 0.9})"));
  result.filled = 1;
  EXPECT_EQ(
      result.fit(),
      "of 12 boxes, for an input of 96x160 (height x width): mean best IoU 0.750, 90.0 % above 0.5; 1 shape added "
      "to the 1 that the data has");
  EXPECT_EQ(result.json()["filled"], 1);
}

TEST(Anchors, ARectangularInputHasItsOwnHeightAndWidth) {
  const Dataset dataset = clusters({{100, 10}}, 1, 0);
  AnchorOptions flat = options(1, 0);
  flat.size = InputSize(100, 400);
  const BoxShape stretched = box_shapes(dataset, flat).at(0);  // x doubles
  EXPECT_DOUBLE_EQ(stretched.width, 200);
  EXPECT_DOUBLE_EQ(stretched.height, 10);
  flat.letterbox = true;  // neither does
  const BoxShape letterboxed = box_shapes(dataset, flat).at(0);
  EXPECT_DOUBLE_EQ(letterboxed.width, 100);
  EXPECT_DOUBLE_EQ(letterboxed.height, 10);
}

TEST(Anchors, ASampleOfManyBoxesIsOfAllTheDataSet) {
  const Dataset dataset = clusters({{50, 50}}, 25, 0.3f);
  AnchorOptions few = options(1, 400);
  const std::vector<BoxShape> all = box_shapes(dataset, few);
  ASSERT_EQ(all.size(), 25u);
  few.most_boxes = 10;
  const std::vector<BoxShape> sample = box_shapes(dataset, few);
  ASSERT_EQ(sample.size(), 9u) << "every third";
  for (size_t i = 0; i < sample.size(); ++i) EXPECT_EQ(sample[i].width, all[3 * i].width) << i;
}

// The first of many runs of k-means is the only one of one. In so large an input whole pixels make no difference.
TEST(Anchors, AreThoseOfTheBestOfTheRuns) {
  const Dataset dataset = clusters({{30, 30}, {60, 20}, {12, 70}}, 40, 0.6f);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    AnchorOptions one = options(6, 16384);
    one.seed = seed;
    AnchorOptions many = one;
    one.restarts = 1;
    many.restarts = 10;
    EXPECT_GE(find_anchors(dataset, many).mean_iou, find_anchors(dataset, one).mean_iou - 1e-3) << seed;
  }
}

TEST(Anchors, AnotherSeedIsAnotherStart) {
  const Dataset dataset = clusters({{30, 30}, {60, 20}, {12, 70}}, 40, 0.6f);
  std::set<std::string> found;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    AnchorOptions one = options(6, 16384);
    one.seed = seed;
    one.restarts = 1;
    found.insert(find_anchors(dataset, one).list());
  }
  EXPECT_GT(found.size(), 1u);
}

}  // namespace
}  // namespace brightnet
