// The heads of the models that come with the project, and the weights that are published for them.
#include <gtest/gtest.h>

#include "formats/download/published_weights.h"
#include "tests/layers/models.h"
#include "train/setup/trained_anchors.h"

namespace brightnet::testing {
namespace {

using Sides = std::vector<std::vector<float>>;

/// Widths and heights of each head's own anchors, in the order of the heads.
Sides sides(const Model& model) {
  Sides all;
  for (const std::vector<Anchor>& head : anchors_of(model).heads) {
    std::vector<float>& own = all.emplace_back();
    for (const Anchor& anchor : head) own.insert(own.end(), {anchor.w, anchor.h});
  }
  return all;
}

std::vector<float> scales(const Model& model) {
  std::vector<float> all;
  for (const PredictionHead& each : prediction_heads(model)) all.push_back(each.head->scale_xy);
  return all;
}

TEST(ShippedModels, HaveTheHeadsOfTheirPapers) {
  const Sides large{{12, 16, 19, 36, 40, 28}, {36, 75, 76, 55, 72, 146}, {142, 110, 192, 243, 459, 401}};
  const Model yolov4 = shipped_model("yolov4", 80), tiny = shipped_model("yolov4-tiny", 80),
              three = shipped_model("yolov4-tiny-3l", 80);
  EXPECT_EQ(sides(yolov4), large);
  EXPECT_EQ(scales(yolov4), (std::vector<float>{1.2f, 1.1f, 1.05f}));
  for (const PredictionHead& each : prediction_heads(yolov4)) {
    EXPECT_EQ(each.head->iou_threshold, 0.213f);
    EXPECT_EQ(each.head->max_delta, 5);
  }
  EXPECT_EQ(sides(tiny), (Sides{{81, 82, 135, 169, 344, 319}, {10, 14, 23, 27, 37, 58}}));
  EXPECT_EQ(scales(tiny), (std::vector<float>{1.05f, 1.05f}));
  EXPECT_EQ(sides(three), (Sides{large[2], large[1], large[0]})) << "the coarse head first";
  EXPECT_EQ(scales(three), (std::vector<float>{1.05f, 1.05f, 1.05f}));
  EXPECT_EQ(yolov4.size, InputSize(608));
  EXPECT_EQ(tiny.size, InputSize(416));
  EXPECT_EQ(three.size, InputSize(608));
}

// configs/weights.yaml: a file has darknet's header of 20 bytes and four bytes of each parameter.
TEST(ShippedModels, HaveAsManyParametersAsThePublishedFiles) {
  for (const char* name : {"yolov4", "yolov4-tiny"}) {
    const Model model = shipped_model(name, 80);
    const ParameterLayout layout(model);
    size_t parameters = 0;
    for (const ParameterEntry& entry : layout.entries()) parameters += entry.count;
    const auto published = find_published_weights(name);
    ASSERT_TRUE(published) << name;
    EXPECT_EQ(published->bytes, 20 + 4 * parameters) << name;
    EXPECT_EQ(published->anchors[0], sides(model)[0]) << name;
  }
}

}  // namespace
}  // namespace brightnet::testing
