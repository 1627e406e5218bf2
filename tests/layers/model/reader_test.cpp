// What a model's YAML means, and what is refused.
#include "layers/model/reader.h"

#include <numeric>

#include <gtest/gtest.h>

#include "layers/parameters.h"
#include "tests/layers/models.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

using testing::model_of;
using testing::shipped_model;

double gigaflops(const Model& model, int size) {
  const auto backend = make_cpu_backend();
  const ParameterLayout layout(model);
  const Parameters parameters{&layout, nullptr, nullptr};
  const Network network({&model, backend.get(), &parameters, 1, size, size, Precision::fp32, Mode::infer});
  return network.flops() * 1e-9;
}

TEST(ShippedModels, Yolov4HasThePapersSize) {
  const Model model = shipped_model("yolov4", 80);
  EXPECT_NEAR(static_cast<double>(ParameterLayout(model).trainable_parameters()) * 1e-6, 64.36, 0.05);
  EXPECT_NEAR(gigaflops(model, 608), 128.4, 0.1);  // its convolutions; published as 128.5
  EXPECT_EQ(model.stride, 32);
}

TEST(ShippedModels, TinyHasThePapersSize) {
  const Model model = shipped_model("yolov4-tiny", 80);
  EXPECT_NEAR(static_cast<double>(ParameterLayout(model).trainable_parameters()) * 1e-6, 6.06, 0.01);
  EXPECT_NEAR(gigaflops(model, 416), 6.9, 0.05);
  const std::vector<double> flops = forward_flops(model, 416);
  EXPECT_NEAR(std::accumulate(flops.begin(), flops.end(), 0.0) * 1e-9, gigaflops(model, 416), 1e-6);
}

TEST(ForwardFlops, OfGroupsAndOfOnePixelAreWhatTheNetworkCounts) {
  const Model model = model_of(testing::groups_factors_and_sums, 2);
  const std::vector<double> flops = forward_flops(model, 64);
  ASSERT_EQ(flops.size(), model.layers.size());
  EXPECT_NEAR(std::accumulate(flops.begin(), flops.end(), 0.0) * 1e-9, gigaflops(model, 64), 1e-9);
}

TEST(ShippedModels, ThreeHeadedTinyAndDemoAreSound) {
  EXPECT_EQ(shipped_model("yolov4-tiny-3l", 80).stride, 32);
  EXPECT_EQ(shipped_model("demo", 5).stride, 16);
}

TEST(ShippedModels, HeadWidthFollowsTheClasses) {
  const Model model = shipped_model("yolov4-tiny", 3);
  for (const auto& layer : model.layers) {
    if (std::holds_alternative<YoloAttributes>(layer.attributes)) {
      EXPECT_EQ(layer.channels, 3 * (5 + 3));
    }
  }
}

constexpr const char* small = R"(
head: {anchors: [[10, 10], [20, 20]]}
blocks:
  pair:
    parameters: [filters]
    layers:
      - conv: {name: a, filters: $filters, size: 3}
      - conv: {filters: 2*$filters/4, size: 1}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - pair: {name: twice, filters: 16, repeat: 2}
  - conv: {from: twice.2.a, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

TEST(Model, BlocksExpandWithTheirParameters) {
  const Model model =
      model_of(std::string(small).replace(std::string(small).find("twice.2.a"), 9, "twice"), 2);
  ASSERT_EQ(model.layers.size(), 7u);
  EXPECT_EQ(model.layers[1].name, "twice.1.a");
  EXPECT_EQ(model.layers[2].name, "twice.1.conv1");
  EXPECT_EQ(model.layers[2].channels, 8);
  EXPECT_EQ(model.layers[3].name, "twice.2.a");
  EXPECT_EQ(model.layers[5].channels, 2 * 7);
  EXPECT_EQ(model.layers[5].inputs, std::vector<int>{4});
}

// Of a block that is repeated, each time has a number.
TEST(Model, ALaterLayerNamesALayerOfABlock) {
  std::string yaml = std::string(small).replace(std::string(small).find("twice.2.a"), 9, "all");
  yaml.insert(yaml.find("  - conv: {from"),
              "  - pair: {name: once, filters: 12}\n"
              "  - concat: {name: all, from: [twice, twice.1.a, once.a, once]}\n");
  const Model model = model_of(yaml, 2);
  ASSERT_EQ(model.layers.size(), 10u);
  EXPECT_EQ(model.layers[7].name, "all");
  EXPECT_EQ(model.layers[7].inputs, (std::vector<int>{4, 1, 5, 6}));
}

TEST(Model, ABlocksParameterMayBeOfSeveralWords) {
  const Model model = model_of(R"(
head: {anchors: [[10, 10]]}
blocks:
  narrow:
    parameters: [half_filters, half]
    layers:
      - conv: {filters: $half_filters, size: 1}
      - conv: {filters: 2*$half_filters/$half, size: 3}
layers:
  - narrow: {half_filters: 12, half: 4}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                               2);
  EXPECT_EQ(model.layers[0].channels, 12);
  EXPECT_EQ(model.layers[1].channels, 6);
}

/// A run's `head:`.
HeadOptions head_of_run(const std::string& yaml) {
  HeadOptions head;
  read_config(YamlDocument::parse(yaml, "run.yaml").root(), head);
  return head;
}

TEST(Model, ItsOwnYamlReadsBackTheSame) {
  const YamlDocument file = YamlDocument::load(testing::source_dir() / "configs/models/yolov4-tiny.yaml");
  const Model first = parse_model(file, 3, head_of_run("{box_weight: 3, ignore_threshold: 0.5}"));
  const Model second = parse_model(YamlDocument::parse(first.yaml(), "metadata"), 0);
  ASSERT_EQ(first.layers.size(), second.layers.size());
  EXPECT_EQ(second.classes, 3);
  for (size_t i = 0; i < first.layers.size(); ++i) {
    EXPECT_EQ(first.layers[i].name, second.layers[i].name);
    EXPECT_EQ(first.layers[i].channels, second.layers[i].channels);
  }
  EXPECT_FLOAT_EQ(std::get<YoloAttributes>(second.layers.back().attributes).head.box_weight, 3);
  EXPECT_FLOAT_EQ(std::get<YoloAttributes>(second.layers.back().attributes).head.ignore_threshold, 0.5);
  EXPECT_EQ(first.yaml(), second.yaml());
}

std::vector<YoloHead> heads_of(const Model& model) {
  std::vector<YoloHead> heads;
  for (const auto& layer : model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) heads.push_back(yolo->head);
  }
  return heads;
}

constexpr const char* with_own_keys = R"(
head: {anchors: [[10, 10], [20, 20]], box_weight: 3, scale_xy: 1.5}
blocks:
  end:
    parameters: [anchor]
    layers:
      - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
      - yolo: {mask: [$anchor], iou_loss: giou, box_weight: 4}
layers:
  - conv: {name: stem, filters: 8, size: 3}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0], scale_xy: 1.1, anchors: [[5, 5], [9, 9]]}
  - end: {from: stem, anchor: 1}
)";

TEST(Model, ALayersKeysWinOverItsHeadsAndARunsKeysOverBoth) {
  const YamlDocument file = YamlDocument::parse(with_own_keys, "test.yaml");
  const auto own = heads_of(parse_model(file, 2));
  EXPECT_FLOAT_EQ(own[0].scale_xy, 1.1f);
  EXPECT_FLOAT_EQ(own[1].scale_xy, 1.5f);
  EXPECT_EQ(own[0].box_weight, 3);
  EXPECT_EQ(own[1].box_weight, 4);

  const HeadOptions run =
      head_of_run("{scale_xy: 2, box_weight: 8, iou_loss: ciou, anchors: [[1, 1], [2, 2]]}");
  const Model model = parse_model(file, 2, run);
  const Model again = parse_model(YamlDocument::parse(model.yaml(), "resolved"), 0);
  Model given_later = parse_model(file, 2);
  const Model copy = given_later;
  set_head(run, given_later);
  EXPECT_EQ(given_later.yaml(), model.yaml());
  EXPECT_EQ(copy.yaml(), parse_model(file, 2).yaml()) << "a copy shares its nodes";
  for (const auto& heads : {heads_of(model), heads_of(again), heads_of(given_later)}) {
    ASSERT_EQ(heads.size(), 2u);
    for (const YoloHead& head : heads) {
      EXPECT_EQ(head.scale_xy, 2);
      EXPECT_EQ(head.box_weight, 8);
      EXPECT_EQ(head.iou_kind, IouKind::ciou);
      EXPECT_EQ(head.anchors[1].w, 2);
    }
  }
  EXPECT_EQ(again.yaml(), model.yaml());
}

TEST(Model, WhatARunLeavesToTheModelStaysEachLayersOwn) {
  const YamlDocument file = YamlDocument::parse(with_own_keys, "test.yaml");
  const Model model = parse_model(file, 2, head_of_run("{anchors: model, assignment: auto, nms: diou}"));
  for (const auto& heads :
       {heads_of(model), heads_of(parse_model(YamlDocument::parse(model.yaml(), "resolved"), 0))}) {
    EXPECT_FLOAT_EQ(heads[0].scale_xy, 1.1f);
    EXPECT_EQ(heads[0].anchors[1].w, 9);
    EXPECT_EQ(heads[1].anchors[1].w, 20);
    EXPECT_EQ(heads[1].iou_kind, IouKind::giou);
  }
}

TEST(Model, ARunsAnchorsMustBeEnoughForTheMasks) {
  const YamlDocument file = YamlDocument::parse(with_own_keys, "test.yaml");
  try {
    parse_model(file, 2, head_of_run("anchors: [[1, 1]]"));
    FAIL();
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("'mask' names anchor 1, but there are 1"), std::string::npos) << what;
    EXPECT_NE(what.find("listed at run.yaml:1"), std::string::npos) << what;
  }
}

TEST(Model, ARunThatLeavesAKeyToTheModelOrToTrainingLosesNothingOfIt) {
  const YamlDocument file = YamlDocument::load(testing::source_dir() / "configs/models/yolov4-tiny.yaml");
  const Model own = parse_model(file, 3);
  for (const char* word : {"model", "auto"}) {
    const Model model =
        parse_model(file, 3, head_of_run(std::string("{anchors: ") + word + ", class_weights: auto}"));
    EXPECT_EQ(model.yaml(), own.yaml()) << word;
    const auto &head = std::get<YoloAttributes>(model.layers.back().attributes),
               &same = std::get<YoloAttributes>(own.layers.back().attributes);
    EXPECT_EQ(head.head.anchors[5].w, same.head.anchors[5].w) << word;
    EXPECT_TRUE(head.automatic_class_weights);
  }
}

TEST(Model, ClassWeightsThatDoNotFitAreRefusedWhereTheyStand) {
  const YamlDocument file = YamlDocument::load(testing::source_dir() / "configs/models/yolov4-tiny.yaml");
  try {
    parse_model(file, 3, head_of_run("box_weight: 3\nclass_weights: [1, 2]"));
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("run.yaml:2: class_weights lists 2 numbers for 3 classes"),
              std::string::npos)
        << e.what();
  }
}

TEST(Model, ClassWeightsMayBeSwitchedOff) {
  const YamlDocument file = YamlDocument::load(testing::source_dir() / "configs/models/yolov4-tiny.yaml");
  const auto weights = [&](const std::string& text) {
    const Model model = parse_model(file, 2, head_of_run("class_weights: " + text));
    return std::get<YoloAttributes>(model.layers.back().attributes).class_weights;
  };
  EXPECT_EQ(weights("[1, 2.5]"), (std::vector<float>{1, 2.5f}));
  EXPECT_TRUE(weights("off").empty());
  EXPECT_THROW(weights("none"), InputError);
}

std::string refusal(const std::string& yaml) {
  try {
    model_of(yaml, 2);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refused(const std::string& yaml, const std::string& line, const std::string& words) {
  const std::string message = refusal(yaml);
  EXPECT_NE(message.find("test.yaml:" + line), std::string::npos) << message;
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(Model, RefusesWhatMakesNoSenseAndSaysWhere) {
  const std::string head = "head: {anchors: [[10, 10]]}\nlayers:\n";
  const std::string end = "  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n";
  EXPECT_EQ(refusal(head + end), "accepted");
  expect_refused(head + "  - conv: {filtres: 8}\n" + end, "3", "Did you mean 'filters'?");
  expect_refused(head + "  - cnv: {filters: 8}\n" + end, "3", "Did you mean 'conv'?");
  expect_refused(head + "  - conv: {filters: 8, from: stem}\n" + end, "3", "there is no layer 'stem'");
  expect_refused(head + "  - conv: {filters: 8, activation: mash}\n" + end, "3", "Did you mean 'mish'?");
  expect_refused(head + "  - conv: {name: a, filters: 8}\n  - conv: {name: a, filters: 8}\n" + end, "4",
                 "two layers");
  expect_refused(head + "  - conv: {filters: 9}\n  - split: {groups: 2}\n" + end, "4", "equal groups");
  expect_refused(
      head + "  - conv: {name: a, filters: 8}\n  - conv: {filters: 9}\n  - shortcut: {from: [a, conv1]}\n" +
          end,
      "5", "these have 8 and 9");
  expect_refused(head + "  - conv: {name: a, filters: 8}\n  - conv: {name: b, filters: 8, stride: 2}\n" +
                     "  - concat: {from: [a, b]}\n" + end,
                 "5", "different sizes");
  expect_refused(head + "  - conv: {filters: 8}\n  - conv: {from: input, filters: 8}\n" + end, "3",
                 "nothing reads");
  expect_refused(head + "  - conv: {filters: 7}\n  - yolo: {mask: [0, 1]}\n", "4", "names anchor 1");
  expect_refused(head + "  - conv: {filters: 7}\n  - yolo: {mask: [-1]}\n", "4", "names anchor -1");
  expect_refused(head + "  - conv: {filters: 8}\n  - yolo: {mask: [0]}\n", "4", "needs 7 channels");
  expect_refused(head + "  - conv: {filters: auto}\n  - conv: {filters: 7}\n" + "  - yolo: {mask: [0]}\n",
                 "4", "auto");
  expect_refused(head + "  - conv: {name: caf\xe9, filters: 7}\n  - yolo: {mask: [0]}\n", "3",
                 "is not UTF-8");
  expect_refused("layers: []\nhead: {anchor: []}\n", "2", "Did you mean 'anchors'?");
  expect_refused("layers: []\nhead: {anchors: automatic}\n", "2", "'automatic' and must be a list of pairs");
  expect_refused("layers: []\nhead: {anchors: [[1, .inf]]}\n", "2", "positive numbers");
  expect_refused(head + "  - conv: {filters: 7}\n  - yolo: {mask: [0, 1]}\n", "4", "listed at test.yaml:1");
}

TEST(Model, RefusesLayersThatDoNotFitTogether) {
  const std::string head = "head: {anchors: [[10, 10]]}\nlayers:\n";
  const std::string end = "  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n";
  const std::string two = "  - conv: {name: a, filters: 8}\n  - conv: {name: b, filters: 8}\n";
  expect_refused(head + two + "  - max_pool: {from: [a, b]}\n" + end, "5", "reads exactly one other");
  expect_refused(head + two + "  - scale_channels: {from: [a, b, a]}\n" + end, "5",
                 "reads exactly 2 others. Write from: [a, b].");
  expect_refused(head + two + "  - scale_channels: {from: [a, b]}\n" + end, "5",
                 "is not one pixel for the whole image");
  expect_refused(head + two + "  - weighted_sum: {from: [a]}\n" + end, "5", "a weighted sum reads 2 to ");
  expect_refused(head + "  - conv: {filters: 9}\n  - channel_shuffle: {groups: 2}\n" + end, "4",
                 "9 channels cannot be shuffled in 2 equal groups");
  expect_refused(head + "  - conv: {filters: 9}\n  - conv: {filters: 8, groups: 4}\n" + end, "4",
                 "9 channels cannot be convolved in 4 equal groups");
  expect_refused(head + "  - conv: {filters: 8}\n  - conv: {filters: 6, groups: 4}\n" + end, "4",
                 "a multiple of it, not 6");
  expect_refused(head + "  - conv: {filters: 8}\n  - conv: {filters: auto, groups: 4}\n" + end, "4",
                 "a multiple of it, not auto");
  expect_refused(head + "  - conv: {filters: 8}\n  - spp: {windows: []}\n" + end, "4",
                 "'windows' lists 0 values and must list at least 1");
  expect_refused(head + two + "  - global_average_pool: {}\n  - upsample: {}\n" + end, "6",
                 "it would change the size of");
  expect_refused(head + two + "  - global_average_pool: {}\n" + end, "7", "is no map for a head");
  expect_refused(head + "  - conv: {filters: auto}\n", "3", "'filters: auto' has no yolo layer after it");
  expect_refused(head + "  - conv: {filters: 8}\n", "", "the model has no yolo layer");
  expect_refused("layers:\n" + end, "3", "there are no anchors. Write head: {anchors: [[w, h], …]}.");
  expect_refused("head: {anchors: [[1, 1]], class_weights: [1, 2, 3]}\nlayers:\n" + end, "1",
                 "class_weights lists 3 numbers for 2 classes");
  expect_refused(head + "  - yolo: {mask: [0], from: input}\n", "3", "cannot read the image");
  const std::string first = "  - conv: {filters: auto}\n  - yolo: {mask: [0]}\n";
  expect_refused(head + first + "  - conv: {name: next, filters: 8}\n" + end, "5",
                 "'next' reads 'yolo1', a yolo layer");
  expect_refused(head + first + "  - concat: {from: [conv1, yolo1]}\n" + end, "5",
                 "reads 'yolo1', a yolo layer");
  expect_refused(head + first + "  - yolo: {mask: [0]}\n", "5", "reads 'yolo1', a yolo layer");
}

TEST(Model, RefusesWhatIsNotWrittenAsAModel) {
  const std::string head = "head: {anchors: [[10, 10]]}\n";
  const std::string end = "  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n";
  expect_refused(head + "layers: 3\n", "2", "a list of layers was expected here");
  expect_refused(head + "layers: []\n", "2", "a list of layers was expected here");
  expect_refused(head + "layers:\n  - conv\n" + end, "3", "a layer is written as '- kind: {…}'");
  expect_refused(head + "layers:\n  - conv: {filters: 8}\n    max_pool: {}\n" + end, "3", "'- kind: {…}'");
  expect_refused(head, "", "the model has no 'layers'");
  expect_refused("blocks: [a]\n" + head + "layers:\n" + end, "1", "'blocks' must be a mapping");
  expect_refused("blocks:\n  again: {layers: [again: {}]}\n" + head + "layers:\n  - again: {}\n" + end, "2",
                 "blocks are nested more than 8 deep. Does a block use itself?");
  expect_refused(
      "blocks:\n  a: {layers: [b: {repeat: 1000}]}\n  b: {layers: [c: {repeat: 1000}]}\n"
      "  c: {layers: [conv: {filters: 1}]}\n" +
          head + "layers:\n  - a: {repeat: 1000}\n" + end,
      "4", "the model has more than 10000 layers. Do blocks repeat each other?");
  const auto block_of = [&](const std::string& filters) {
    return "blocks:\n  block: {parameters: [filters], layers: [conv: {filters: " + filters + "}]}\n" + head +
           "layers:\n  - block: {filters: 9}\n" + end;
  };
  EXPECT_EQ(refusal(block_of("$filters * 2 / 3")), "accepted");
  expect_refused(block_of("$filters / 2"), "2", "'$filters / 2' is not a whole number");
  expect_refused(block_of("$filters / 0"), "2", "is not a whole number");
  expect_refused(block_of("$filters * 99999999 * 99999999"), "2",
                 "'$filters * 99999999 * 99999999' is too large");
  expect_refused(block_of("$filter"), "2", "uses 'filter', which is not a parameter of this block");
  std::string anchors = "[1, 1]";
  for (int i = 1; i <= max_anchors; ++i) anchors += ", [1, 1]";
  expect_refused("head: {anchors: [" + anchors + "]}\nlayers:\n" + end, "1", "must list 1 to ");
  expect_refused("head: {anchors: []}\nlayers:\n" + end, "1", "must list 1 to ");
  expect_refused("head: {anchors: [[1, 1]], assignment: simotta}\nlayers:\n" + end, "1",
                 "Did you mean 'simota'?");
  expect_refused("head: {anchors: [[1, 1]], assignment: xyz}\nlayers:\n" + end, "1",
                 "'assignment' is 'xyz' and must be one of: ");
}

TEST(Model, RefusesMoreChannelsThanCanBeCounted) {
  const std::string head = "head: {anchors: [[10, 10]]}\nlayers:\n";
  const std::string end = "  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n";
  expect_refused(head + "  - conv: {filters: 1000000000}\n" + end, "3", "from 1 to 65536");
  expect_refused(head + "  - conv: {filters: 60000, stride: 2}\n  - space_to_depth: {block: 8}\n" + end, "4",
                 "3840000 channels");
  expect_refused(head + "  - conv: {name: a, filters: 60000}\n  - concat: {from: [a, a]}\n" + end, "4",
                 "120000 channels");
  try {
    parse_model(YamlDocument::parse(head + end, "test.yaml"), 2'000'000'000);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("2000000005 channels"), std::string::npos) << error.what();
  }
}

TEST(Model, HasDefaults) {
  const Model model = model_of(
      "head: {anchors: [[10, 10]]}\nlayers:\n  - conv: {filters: 8, size: 3}\n  - conv: {filters: auto}\n"
      "  - yolo: {mask: [0]}\n",
      0);
  EXPECT_EQ(model.classes, 80);
  EXPECT_EQ(model.size, InputSize(416));
  EXPECT_EQ(model.channels, 3);
  EXPECT_EQ(model.stride, 1);
  const auto& conv = std::get<ConvAttributes>(model.layers[0].attributes);
  EXPECT_EQ(conv.activation, Activation::leaky);
  EXPECT_EQ(conv.padding, 1) << "half the kernel";
  EXPECT_TRUE(conv.batch_norm);
  EXPECT_EQ(std::get<ConvAttributes>(model.layers[1].attributes).size, 1);
  EXPECT_EQ(model.layers[0].name, "conv1");
  EXPECT_EQ(model.layers[2].name, "yolo1");
}

// Within a block `input` is what the block reads, in each repetition what the one before has made.
TEST(Model, ABlocksInputIsWhatItReads) {
  const std::string yaml = R"(
head: {anchors: [[10, 10]]}
blocks:
  residual:
    parameters: [filters]
    layers:
      - conv: {filters: $filters}
      - shortcut: {name: sum, from: [conv1, input]}
layers:
  - conv: {name: stem, filters: 8}
  - conv: {name: other, filters: 8}
  - residual: {name: body, from: stem, filters: 8, repeat: 2}
  - concat: {from: [body, body.1.sum, other]}
  - conv: {filters: auto}
  - yolo: {mask: [0]}
)";
  const Model model = model_of(yaml, 2);
  ASSERT_EQ(model.layers.size(), 9u);
  EXPECT_EQ(model.layers[2].inputs, std::vector<int>{0}) << "and not the layer before";
  EXPECT_EQ(model.layers[3].inputs, (std::vector<int>{2, 0}));
  EXPECT_EQ(model.layers[4].inputs, std::vector<int>{3});
  EXPECT_EQ(model.layers[5].inputs, (std::vector<int>{4, 3}));
  EXPECT_EQ(model.layers[6].inputs, (std::vector<int>{5, 3, 1}));
  const auto with = [&](const std::string& from, const std::string& to) {
    return std::string(yaml).replace(yaml.find(from), from.size(), to);
  };
  expect_refused(with("from: stem, filters: 8,", "from: stem,"), "12", "block 'residual' needs 'filters'");
  expect_refused(with("repeat: 2", "repeat: 0"), "12", "at least 1");
  expect_refused(with("repeat: 2", "repeat: 1001"), "12", "at most 1000");
}

}  // namespace
}  // namespace brightnet
