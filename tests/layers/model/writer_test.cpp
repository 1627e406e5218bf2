// What a model's description is written as reads back as the same network.
#include "layers/model/writer.h"

#include <gtest/gtest.h>

#include "tests/layers/every_layer.h"

namespace brightnet {
namespace {

using testing::model_of;
using testing::shipped_model;

void expect_reads_back(const Model& model) {
  const std::string yaml = write_model_yaml(model, {});
  const Model again = model_of(yaml, 0);
  EXPECT_TRUE(same_layers(model.layers, again.layers)) << yaml;
  EXPECT_EQ(again.classes, model.classes);
  EXPECT_EQ(again.stride, model.stride);
  for (size_t i = 0; i < again.layers.size(); ++i) EXPECT_EQ(again.layers[i].name, model.layers[i].name);
  EXPECT_EQ(write_model_yaml(again, {}), yaml);
}

TEST(ModelWriter, AModelWithEveryKindOfLayerReadsBack) {
  expect_reads_back(testing::every_layer_model());
}

TEST(ModelWriter, ShippedModelsReadBack) {
  for (const char* name : {"yolov4", "yolov4-tiny", "yolov4-tiny-3l", "demo"})
    expect_reads_back(shipped_model(name, 3));
}

TEST(ModelWriter, NamesThatMeanSomethingElseInYamlReadBack) {
  Model model = model_of(R"(
name: "a model: mine, # 2"
head: {anchors: [[10, 12]]}
layers:
  - conv: {name: "a, b", filters: 7}
  - conv: {name: "null", filters: 7}
  - conv: {name: "[c]", from: "a, b", filters: 7}
  - conv: {name: "d # e", filters: 7}
  - conv: {name: "f: g", filters: 7}
  - conv: {name: "'h\"", filters: 7}
  - concat: {name: "{}", from: ["a, b", "null", "[c]", "d # e"]}
  - concat: {name: "*", from: ["{}", "f: g", "'h\""]}
  - conv: {filters: auto}
  - yolo: {name: "ünd !", mask: [0]}
)",
                         2);
  expect_reads_back(model);
  EXPECT_EQ(model_of(write_model_yaml(model, {}), 0).name, "a model: mine, # 2");
}

// Its filters do not follow from the head: they are written.
TEST(ModelWriter, AHeadThatReadsASumReadsBack) {
  expect_reads_back(model_of(R"(
name: sum
head: {anchors: [[10, 12]]}
layers:
  - conv: {name: a, filters: 7, size: 1}
  - conv: {name: b, filters: 7, size: 1}
  - shortcut: {from: [a, b]}
  - yolo: {mask: [0]}
)",
                             2));
}

// Nor do those of groups, or of predictions that a layer before the head reads.
TEST(ModelWriter, PredictionsWhoseFiltersCannotBeAutoReadBack) {
  expect_reads_back(model_of(R"(
name: numbers
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 8, size: 3}
  - conv: {filters: 14, size: 1, groups: 2, batch_norm: false}
  - yolo: {mask: [0, 1]}
  - conv: {name: shared, from: conv1, filters: 7, size: 1}
  - conv: {name: next, filters: 8, size: 1}
  - yolo: {from: shared, mask: [0]}
  - conv: {from: next, filters: auto, size: 1}
  - yolo: {mask: [1]}
)",
                             2));
}

TEST(ModelWriter, SaysWhatHeadsShareOnceAndTheRestWhereItBelongs) {
  const Model model = model_of(R"(
name: two-heads
input: {size: 64, channels: 3}
activation: mish
head: {anchors: [[10, 12], [24, 20]], box_weight: 2.5, iou_loss: diou}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {name: wide, filters: 16, size: 5, padding: 1, precision: fp32}
  - conv: {filters: auto, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
  - conv: {from: wide, filters: 8, size: 1, activation: swish}
  - space_to_depth: {block: 2}
  - conv: {filters: auto, batch_norm: false, activation: linear}
  - yolo: {mask: [1], scale_xy: 1.2}
)",
                               4);
  EXPECT_EQ(write_model_yaml(model, {"A comment."}), R"(# A comment.
name: two-heads
input: {size: 64, channels: 3}
classes: 4
activation: linear
head:
  anchors: [[10, 12], [24, 20]]
  iou_loss: diou
  box_weight: 2.5
layers:
  - conv: {name: conv1, filters: 8, size: 3, stride: 2, activation: mish}
  - conv: {name: wide, filters: 16, size: 5, padding: 1, activation: mish, precision: fp32}
  - conv: {name: conv2, filters: auto, size: 1, batch_norm: false}
  - yolo: {name: yolo1, mask: [0]}
  - conv: {name: conv3, from: wide, filters: 8, size: 1, activation: swish}
  - space_to_depth: {name: space_to_depth1, block: 2}
  - conv: {name: conv4, filters: auto, size: 1, batch_norm: false}
  - yolo: {name: yolo2, mask: [1], scale_xy: 1.2}
)");
  EXPECT_NE(write_model_yaml(model, {}, true).find("{name: yolo1, mask: [0]}  # line 10\n"),
            std::string::npos)
      << write_model_yaml(model, {}, true);
}

TEST(ModelWriter, LayersAreTheSameWhereTheyReadTheSame) {
  const auto model_with = [](const std::string& last) {
    return model_of(R"(
head: {anchors: [[10, 12]]}
layers:
  - conv: {name: a, filters: 8, size: 3}
  - conv: {name: b, filters: 8, size: 3}
  - shortcut: {from: [a, b]}
)" + last + R"(
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                    2);
  };
  const Model model = model_with("  - conv: {name: c, filters: 8, size: 3}");
  EXPECT_TRUE(same_layers(model.layers, model_with("  - conv: {name: d, filters: 8, size: 3}").layers));
  for (const char* other :
       {"  - conv: {name: c, filters: 8, size: 1}", "  - conv: {name: c, filters: 9, size: 3}",
        "  - max_pool: {name: c, size: 3, stride: 1}"})
    EXPECT_FALSE(same_layers(model.layers, model_with(other).layers)) << other;
  Model rewired = model;
  rewired.layers[3].inputs = {1};
  EXPECT_FALSE(same_layers(model.layers, rewired.layers)) << "c reads b, and not the sum";
  rewired = model;
  rewired.layers[2].inputs = {1, 0};
  EXPECT_FALSE(same_layers(model.layers, rewired.layers)) << "the sum reads them in another order";
}

TEST(ModelWriter, AModelThatNoYamlDescribedIsWrittenWithItsClassesAndHeads) {
  Model model = testing::every_layer_model();
  model.description.reset();
  HeadOptions head;
  head.box_weight = 4.5f;
  set_head(head, model);
  const Model again = model_of(model.yaml(), 0);
  EXPECT_TRUE(same_layers(model.layers, again.layers)) << model.yaml();
  EXPECT_EQ(std::get<YoloAttributes>(again.layers.back().attributes).head.box_weight, 4.5f);
}

}  // namespace
}  // namespace brightnet
