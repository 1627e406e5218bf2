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
  EXPECT_EQ(write_model_yaml(again, {}), yaml);
}

TEST(ModelWriter, AModelWithEveryKindOfLayerReadsBack) {
  expect_reads_back(testing::every_layer_model());
}

TEST(ModelWriter, ShippedModelsReadBack) {
  for (const char* name : {"yolov4", "yolov4-tiny", "yolov4-tiny-3l", "demo"})
    expect_reads_back(shipped_model(name, 3));
}

TEST(ModelWriter, NamesOnlyTheLayersThatAreReferredTo) {
  const Model model = model_of(R"(
name: residuals
input: {size: 64, channels: 3}
head: {anchors: [[10, 12]]}
blocks:
  sum:
    parameters: [filters]
    layers:
      - conv: {name: begin, filters: $filters/2, size: 1}
      - conv: {name: end, filters: $filters, size: 3}
      - shortcut: {name: result, from: [end, input]}
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {name: wide, filters: 16, size: 3, stride: 2}
  - sum: {filters: 16, repeat: 2}
  - conv: {filters: 32, size: 3, stride: 2}
  - sum: {filters: 32, repeat: 3}
  - conv: {filters: auto, batch_norm: false}
  - yolo: {mask: [0]}
)",
                               1);
  EXPECT_NE(write_model_yaml(model, {}).find(R"(
    layers:
      - conv: {filters: $filters/2, size: 1}
      - conv: {name: out, filters: $filters, size: 3}
      - shortcut: {from: [out, input]}
)"),
            std::string::npos)
      << write_model_yaml(model, {});
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
  # backbone
  - conv: {filters: 8, size: 3, stride: 2, activation: mish}
  - conv: {name: c1, filters: 16, size: 5, padding: 1, activation: mish, precision: fp32}
  # head at stride 2
  - conv: {name: predict2, filters: auto, size: 1, batch_norm: false}
  - yolo: {name: head2, mask: [0]}
  # backbone
  - conv: {from: c1, filters: 8, size: 1, activation: swish}
  - space_to_depth: {block: 2}
  # head at stride 4
  - conv: {name: predict4, filters: auto, size: 1, batch_norm: false}
  - yolo: {name: head4, mask: [1], scale_xy: 1.2}
)");
}

}  // namespace
}  // namespace brightnet
