// What each kind of layer defines: shapes, keys, parameters.
#include "layers/model/layer_kinds.h"

#include <set>

#include <gtest/gtest.h>

#include "layers/model/model.h"
#include "tests/layers/every_layer.h"

namespace brightnet {
namespace {

LayerDescription described(LayerAttributes attributes) {
  LayerDescription layer;
  layer.name = "it";
  layer.inputs = {network_input};
  layer.attributes = std::move(attributes);
  layer.where = "test.yaml:7";
  return layer;
}

ConvAttributes conv(int filters, int size, int stride, int padding) {
  ConvAttributes attributes;
  attributes.filters = filters;
  attributes.size = size;
  attributes.stride = stride;
  attributes.padding = padding;
  return attributes;
}

TEST(LayerKinds, TheOutputsShapeFollowsFromTheInputs) {
  const auto shape = [](LayerAttributes attributes, std::vector<Shape> inputs) {
    return output_shape(described(std::move(attributes)), inputs);
  };
  const Shape in{2, 12, 20, 6};
  EXPECT_EQ(shape(conv(8, 3, 2, 1), {in}), (Shape{2, 6, 10, 8}));
  EXPECT_EQ(shape(conv(8, 5, 1, 0), {in}), (Shape{2, 8, 16, 8}));
  EXPECT_EQ(shape(MaxPoolAttributes{3, 2}, {{2, 13, 20, 6}}), (Shape{2, 7, 10, 6}));
  EXPECT_EQ(shape(MaxPoolAttributes{2, 1}, {in}), in);
  EXPECT_EQ(shape(AveragePoolAttributes{4, 4}, {in}), (Shape{2, 3, 5, 6}));
  EXPECT_EQ(shape(GlobalPoolAttributes{}, {in}), (Shape{2, 1, 1, 6}));
  EXPECT_EQ(shape(ScaleChannelsAttributes{}, {in, {2, 1, 1, 6}}), in);
  EXPECT_EQ(shape(WeightedSumAttributes{}, {in, in, in}), in);
  EXPECT_EQ(shape(SppAttributes{{5, 9}}, {in}), (Shape{2, 12, 20, 18}));
  EXPECT_EQ(shape(ConcatAttributes{}, {in, {2, 12, 20, 3}}), (Shape{2, 12, 20, 9}));
  EXPECT_EQ(shape(SplitAttributes{3, 1}, {in}), (Shape{2, 12, 20, 2}));
  EXPECT_EQ(shape(ChannelShuffleAttributes{3}, {in}), in);
  EXPECT_EQ(shape(ShortcutAttributes{Activation::mish, true}, {in, {2, 12, 20, 3}}), in);
  EXPECT_EQ(shape(MultiplyAttributes{}, {in, in}), in);
  EXPECT_EQ(shape(UpsampleAttributes{3}, {in}), (Shape{2, 36, 60, 6}));
  EXPECT_EQ(shape(SpaceToDepthAttributes{2}, {in}), (Shape{2, 6, 10, 24}));
  EXPECT_EQ(shape(YoloAttributes{}, {in}), in);
}

TEST(LayerKinds, AMapThatDoesNotFitIsRefusedWithThePlaceAndTheLayer) {
  const auto refusal = [](LayerAttributes attributes, const Shape& in) -> std::string {
    try {
      output_shape(described(std::move(attributes)), {in});
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string small = refusal(conv(8, 7, 2, 0), {1, 6, 9, 3});
  EXPECT_NE(small.find("test.yaml:7"), std::string::npos) << small;
  EXPECT_NE(small.find("9x6"), std::string::npos) << small;
  EXPECT_NE(small.find("conv: {filters: 8, size: 7, stride: 2, padding: 0}"), std::string::npos) << small;
  EXPECT_EQ(refusal(conv(8, 7, 2, 0), {1, 7, 9, 3}), "accepted");
  EXPECT_NE(refusal(SpaceToDepthAttributes{2}, {1, 12, 13, 3}).find("space_to_depth: {block: 2}"),
            std::string::npos);
}

TEST(LayerKinds, MapsOfUnlikeSidesAreRefused) {
  LayerDescription layer = described(ConcatAttributes{});
  EXPECT_THROW(output_shape(layer, {{1, 8, 8, 3}, {1, 8, 7, 3}}), InputError);
  layer.attributes = ScaleChannelsAttributes{};
  EXPECT_THROW(output_shape(layer, {{1, 8, 8, 3}, {1, 8, 8, 3}}), InputError);
  layer.attributes = ConcatAttributes{};
  try {
    output_shape(layer, {{1, 8, 16, 3}, {1, 8, 7, 3}});
    FAIL();
  } catch (const InputError& error) {  // width x height
    const std::string text = error.what();
    EXPECT_NE(text.find("a map of 16x8 pixels and one of 7x8, which must have 16x8"), std::string::npos)
        << text;
  }
}

TEST(LayerKinds, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for_each_layer_kind([&](const auto& kind) { EXPECT_TRUE(names.insert(kind.kind).second) << kind.kind; });
  EXPECT_EQ(names.size(), std::variant_size_v<LayerAttributes>);
}

std::string text(const LayerAttributes& attributes, Activation activation = Activation::linear) {
  std::string line;
  for (const auto& [key, value] : layer_texts(attributes, activation))
    line.append(line.empty() ? "" : ", ").append(key + ": " + value);
  return line;
}

TEST(LayerKinds, WriteTheKeysThatSayMoreThanTheDefaults) {
  ConvAttributes plain = conv(8, 3, 1, 1);
  EXPECT_EQ(text(plain), "filters: 8, size: 3");
  EXPECT_EQ(text(plain, Activation::leaky), "filters: 8, size: 3, activation: linear");
  plain.filters = 0;
  plain.stride = 2;
  plain.padding = 0;
  plain.batch_norm = false;
  plain.activation = Activation::mish;
  plain.full_precision = true;
  EXPECT_EQ(text(plain),
            "filters: auto, size: 3, stride: 2, padding: 0, batch_norm: false, activation: mish, "
            "precision: fp32");
  EXPECT_EQ(text(MaxPoolAttributes{}), "size: 2, stride: 2");
  plain.groups = 4;
  EXPECT_NE(text(plain).find("padding: 0, groups: 4, batch_norm: false"), std::string::npos) << text(plain);
  EXPECT_EQ(text(AveragePoolAttributes{}), "size: 2, stride: 2");
  EXPECT_EQ(text(GlobalPoolAttributes{}), "");
  EXPECT_EQ(text(ScaleChannelsAttributes{}), "");
  EXPECT_EQ(text(WeightedSumAttributes{}), "");
  EXPECT_EQ(text(WeightedSumAttributes{SumWeighting::input, SumNormalization::softmax, Activation::relu}),
            "weights: input, normalization: softmax, activation: relu");
  EXPECT_EQ(text(SppAttributes{}), "windows: [5, 9, 13]");
  EXPECT_EQ(text(ConcatAttributes{}), "");
  EXPECT_EQ(text(SplitAttributes{}), "groups: 2, part: 0");
  EXPECT_EQ(text(ChannelShuffleAttributes{}), "groups: 2");
  EXPECT_EQ(text(ShortcutAttributes{}), "");
  EXPECT_EQ(text(ShortcutAttributes{Activation::relu, true}), "partial: true, activation: relu");
  EXPECT_EQ(text(UpsampleAttributes{}), "factor: 2");
  EXPECT_EQ(text(SpaceToDepthAttributes{}), "block: 2");
  YoloAttributes yolo;
  yolo.head.anchor_count = 2;
  yolo.head.anchors[0] = {10, 14.5f};
  yolo.head.anchors[1] = {344, 0.1f};
  yolo.head.mask_count = 1;
  yolo.head.mask[0] = 1;
  yolo.head.iou_kind = IouKind::giou;
  yolo.class_weights = {1, 2.25f};
  yolo.nms = NmsKind::diou;
  EXPECT_EQ(text(yolo),
            "anchors: [[10, 14.5], [344, 0.1]], scale_xy: 1, new_coords: false, ignore_threshold: 0.7, "
            "truth_threshold: 1, assignment: best_anchor, anchor_ratio: 4, iou_threshold: 1, iou_loss: giou, "
            "box_weight: 1, objectness_weight: 1, class_weight: 1, negative_weight: 1, label_smoothing: 0, "
            "focal_gamma: 0, objectness_smooth: false, objectness_gamma: 0, max_delta: 0, "
            "class_weights: [1, 2.25], nms: diou, nms_beta: 0.6, mask: [1]");
}

TEST(LayerKinds, AConvolutionsWeightsDecayAndItsStatisticsAreNotLearned) {
  Model model;
  model.channels = 3;
  LayerDescription layer = described(conv(8, 5, 1, 2));
  std::string learned, decayed, statistics;
  for (const ParameterSpec& spec : parameters_of(model, layer)) {
    (is_running_statistic(spec.kind) ? statistics : learned) += spec.name + ' ';
    if (spec.kind == ParameterKind::weight) decayed += spec.name + ' ';
    const std::vector<int64_t> weight{8, 5, 5, 3}, other{8};
    EXPECT_EQ(spec.shape, spec.name == "weight" ? weight : other);
  }
  EXPECT_EQ(learned, "weight scale shift ");
  EXPECT_EQ(decayed, "weight ");
  EXPECT_EQ(statistics, "running_mean running_variance ");
  std::get<ConvAttributes>(layer.attributes).batch_norm = false;
  EXPECT_EQ(parameters_of(model, layer)[1].name, "bias");
  EXPECT_TRUE(parameters_of(model, described(MaxPoolAttributes{})).empty());
}

TEST(LayerKinds, GroupsAndSumsHaveTheirOwnParameters) {
  Model model;
  model.channels = 6;
  LayerDescription layer = described(conv(8, 3, 1, 1));
  std::get<ConvAttributes>(layer.attributes).groups = 2;
  EXPECT_EQ(parameters_of(model, layer)[0].shape, (std::vector<int64_t>{8, 3, 3, 3}));
  layer.attributes = WeightedSumAttributes{};
  layer.inputs = {network_input, network_input, network_input};
  ASSERT_EQ(parameters_of(model, layer).size(), 1u);
  EXPECT_EQ(parameters_of(model, layer)[0].shape, (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(parameters_of(model, layer)[0].kind, ParameterKind::scale) << "from 1 on, without decay";
  std::get<WeightedSumAttributes>(layer.attributes).weights = SumWeighting::input;
  EXPECT_EQ(parameters_of(model, layer)[0].shape, (std::vector<int64_t>{3}));
}

TEST(LayerKinds, ScalesMultiplyAlongThePath) {
  const Model model = testing::every_layer_model();
  const std::vector<double> scales = layer_scales(model.layers);
  const auto scale_of = [&](const std::string& name) {
    for (size_t i = 0; i < scales.size(); ++i) {
      if (model.layers[i].name == name) return scales[i];
    }
    return 0.0;
  };
  EXPECT_EQ(scale_of("sum"), 2);
  EXPECT_EQ(scale_of("fine"), 8);
  EXPECT_EQ(scale_of("space_to_depth1"), 16);
  EXPECT_EQ(scale_of("upsample1"), 8);
}

TEST(LayerKinds, TheirKeysAreWithinLimits) {
  struct Limits {
    const char *kind, *key;
    int low, high;  // 0: there is none
  };
  const auto said = [](const Limits& limits, int value) -> std::string {
    const std::string filters = limits.kind == std::string_view("conv") ? "filters: 8, " : "";
    try {
      testing::model_of("head: {anchors: [[10, 10]]}\nlayers:\n  - conv: {filters: 8}\n  - " +
                            std::string(limits.kind) + ": {" + filters + limits.key + ": " +
                            std::to_string(value) +
                            "}\n  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n",
                        1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  for (const Limits& limits : {Limits{"conv", "size", 1, 31},
                               {"conv", "stride", 1, 32},
                               {"conv", "padding", -1, 31},
                               {"conv", "groups", 1, 65536},
                               {"max_pool", "size", 1, 15},
                               {"max_pool", "stride", 1, 15},
                               {"average_pool", "size", 1, 64},
                               {"average_pool", "stride", 1, 64},
                               {"split", "groups", 1, 0},
                               {"split", "part", 0, 1},
                               {"channel_shuffle", "groups", 1, 0},
                               {"upsample", "factor", 1, 8},
                               {"space_to_depth", "block", 1, 8}}) {
    SCOPED_TRACE(std::string(limits.kind) + ' ' + limits.key);
    const auto refused = [&](int value) {
      return said(limits, value).find("must be at ") != std::string::npos;
    };
    EXPECT_FALSE(refused(limits.low));
    EXPECT_TRUE(refused(limits.low - 1));
    if (limits.high == 0) continue;
    EXPECT_FALSE(refused(limits.high));
    EXPECT_TRUE(refused(limits.high + 1));
  }
}

TEST(LayerKinds, SomeOnlyMoveValuesAndOneReadsOnePixel) {
  std::set<std::string_view> moving, reading;
  for_each_layer_kind([&](const auto& kind) {
    const LayerDescription layer = described(kind);
    if (moves_values(layer)) moving.insert(kind.kind);
    EXPECT_FALSE(reads_one_pixel(layer, 0)) << kind.kind;
    if (reads_one_pixel(layer, 1)) reading.insert(kind.kind);
  });
  EXPECT_EQ(moving, (std::set<std::string_view>{"max_pool", "spp", "concat", "split", "channel_shuffle",
                                                "upsample", "space_to_depth"}));
  EXPECT_EQ(reading, std::set<std::string_view>{"scale_channels"});
}

TEST(LayerKinds, WindowsOfAPyramidAreOddAndSmall) {
  const auto accepts = [](std::vector<int> windows) {
    return SppAttributes{std::move(windows)}.refusal({}).empty();
  };
  EXPECT_TRUE(accepts({3, 15}));
  for (const int wrong : {1, 2, 4, 17}) EXPECT_FALSE(accepts({5, wrong})) << wrong;
}

}  // namespace
}  // namespace brightnet
