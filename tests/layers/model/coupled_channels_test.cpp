// Which channels go together, kind by kind: a network computes the same without channels that are 0 everywhere.
#include "layers/model/coupled_channels.h"

#include <map>

#include "tests/layers/pruned.h"

namespace brightnet::testing {
namespace {

/// Layers between a stem of 16 channels, `x`, and the convolution before the head, which reads the last of them. Gates end in
/// a logistic, whose 0.5 no other layer than the product reads.
const std::multimap<std::string, std::string>& layers_of_kinds() {
  static const std::multimap<std::string, std::string> all{
      {"conv",
       "- conv: {name: it, filters: 16, size: 3}\n"
       "- conv: {filters: 12, size: 3, stride: 2, batch_norm: false, activation: swish}\n"},
      {"conv", "- conv: {name: it, filters: 24, size: 3, groups: 4}\n"},
      {"conv", "- conv: {name: it, filters: 16, size: 3, groups: 16}\n- conv: {filters: 12, size: 1}\n"},
      {"conv", "- conv: {name: it, filters: 32, size: 3, groups: 16}\n- conv: {filters: 12, size: 1}\n"},
      {"max_pool", "- max_pool: {name: it, size: 3, stride: 2}\n"},
      {"average_pool", "- average_pool: {name: it, size: 3, stride: 2}\n"},
      {"global_average_pool",
       "- global_average_pool: {name: it}\n"
       "- conv: {filters: 8, size: 1, batch_norm: false, activation: relu}\n"
       "- conv: {name: gate, filters: 16, size: 1, batch_norm: false, activation: logistic}\n"
       "- scale_channels: {from: [x, gate]}\n"},
      {"spp", "- spp: {name: it, windows: [3, 5]}\n"},
      {"concat", "- conv: {name: b, filters: 8, size: 1}\n- concat: {name: it, from: [b, x]}\n"},
      {"concat", "- concat: {name: it, from: [x, input]}\n"},
      {"split",
       "- split: {name: it, groups: 2, part: 1}\n- conv: {name: b, filters: 8, size: 1}\n"
       "- concat: {from: [b, x]}\n"},
      {"split", "- split: {name: it, groups: 4, part: 2}\n- shortcut: {from: [x, it], partial: true}\n"},
      {"channel_shuffle", "- channel_shuffle: {name: it, groups: 4}\n"},
      {"channel_shuffle",
       "- channel_shuffle: {groups: 2}\n- conv: {filters: 16, size: 3, groups: 4}\n"
       "- channel_shuffle: {name: it, groups: 8}\n"},
      {"shortcut",
       "- conv: {name: b, filters: 16, size: 3}\n- shortcut: {name: it, from: [x, b]}\n"
       "- conv: {name: c, filters: 16, size: 3}\n- shortcut: {from: [c, it], activation: leaky}\n"},
      {"shortcut",
       "- conv: {name: b, filters: 24, size: 3}\n"
       "- shortcut: {name: it, from: [b, x], partial: true}\n"},
      {"shortcut",
       "- conv: {name: b, filters: 24, size: 3}\n- conv: {name: c, filters: 16, size: 3}\n"
       "- shortcut: {name: it, from: [c, b], partial: true}\n"},
      {"weighted_sum",
       "- conv: {name: b, filters: 16, size: 3}\n- conv: {name: c, filters: 16, size: 3}\n"
       "- weighted_sum: {name: it, from: [b, x, c], normalization: softmax, activation: swish}\n"},
      {"weighted_sum",
       "- conv: {name: b, filters: 16, size: 3}\n"
       "- weighted_sum: {name: it, from: [b, x], weights: input}\n"},
      {"multiply",
       "- conv: {name: gate, filters: 16, size: 3, activation: logistic}\n"
       "- multiply: {name: it, from: [gate, x]}\n"},
      {"scale_channels",
       "- global_average_pool: {}\n"
       "- conv: {name: gate, filters: 16, size: 1, batch_norm: false, activation: logistic}\n"
       "- scale_channels: {name: it, from: [x, gate]}\n"},
      {"upsample", "- upsample: {name: it, factor: 2}\n"},
      {"space_to_depth", "- space_to_depth: {name: it, block: 2}\n"},
      {"yolo",
       "- conv: {name: a, filters: 14, size: 1}\n- conv: {name: b, from: x, filters: 14, size: 1}\n"
       "- shortcut: {from: [a, b]}\n- yolo: {name: it, mask: [0, 1]}\n"
       "- conv: {from: x, filters: 12, size: 1}\n"},
  };
  return all;
}

Model with_layers(const std::string& layers) {
  std::string indented = "  " + layers;
  for (size_t at = indented.find("\n-"); at != std::string::npos; at = indented.find("\n-", at + 1))
    indented.insert(at + 1, "  ");
  return model_of(R"(
name: around
activation: mish
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: x, filters: 16, size: 3}
)" + indented + R"(  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                  2);
}

const LayerDescription& layer_of(const Model& model, const std::string& name) {
  return *std::find_if(model.layers.begin(), model.layers.end(),
                       [&](const LayerDescription& layer) { return layer.name == name; });
}

TEST(CoupledChannels, DeadChannelsCanGoThroughEveryKindOfLayer) {
  for (const auto& [kind, layers] : layers_of_kinds()) {
    SCOPED_TRACE(kind + ":\n" + layers);
    const Model model = with_layers(layers);
    ASSERT_EQ(Model::kind(layer_of(model, "it")), kind);
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      const Model left = expect_dead_channels_can_go(model, 16, seed);
      const int before = layer_of(model, "it").channels, after = layer_of(left, "it").channels;
      if (kind == "yolo") {
        EXPECT_EQ(after, before);
      } else {
        EXPECT_LT(after, before) << "the rule was not needed, seed " << seed;
      }
    }
  }
  for_each_layer_kind([](const auto& kind) {
    EXPECT_TRUE(layers_of_kinds().contains(std::string(kind.kind))) << kind.kind << " is not tested";
  });
}

/// The same layers with fewer channels: quick to compute.
Model narrowed(const Model& model) {
  const CoupledChannels coupled = couple_channels(model);
  std::vector<std::vector<double>> alike;
  for (const auto& sets : coupled.sets) alike.emplace_back(sets.size(), 1.0);
  return without_channels(model, coupled, choose_removed(model, coupled, alike, {.keep = 0.1}));
}

TEST(CoupledChannels, DeadChannelsCanGoThroughTheShippedModels) {
  for (const char* name : {"yolov4-tiny", "yolov4-tiny-3l", "yolov4"})
    expect_dead_channels_can_go(narrowed(shipped_model(name, 3)), 64);
}

TEST(CoupledChannels, NameWhatTheyAreKeptFor) {
  const Model model = with_layers("- concat: {from: [x, input]}\n- conv: {name: on, filters: 12, size: 3}\n");
  const CoupledChannels coupled = couple_channels(model);
  const auto reasons = [&](size_t layer) {
    std::set<std::string> found;
    for (const int set : coupled.sets[layer]) found.insert(coupled.kept_for[static_cast<size_t>(set)]);
    return found;
  };
  EXPECT_EQ(reasons(0), std::set<std::string>{""});
  EXPECT_EQ(reasons(1), (std::set<std::string>{"", "joined to the image"}));
  EXPECT_EQ(reasons(2), std::set<std::string>{""});
  EXPECT_EQ(reasons(3), std::set<std::string>{"read by yolo1"}) << "it makes the predictions";
}

// The sum comes after the head, and joins its predictions with channels of an earlier layer.
TEST(CoupledChannels, WhatIsJoinedWithPredictionsStaysAsTheyDo) {
  const Model model = with_layers(
      "- conv: {name: a, filters: 14, size: 1}\n- conv: {name: b, from: x, filters: 14, size: 1}\n"
      "- yolo: {name: first, mask: [0, 1]}\n- shortcut: {from: [a, b]}\n"
      "- conv: {name: c, filters: 12, size: 1}\n");
  const CoupledChannels coupled = couple_channels(model);
  for (const size_t layer : {1, 2}) {
    for (const int set : coupled.sets[layer])
      EXPECT_EQ(coupled.kept_for[static_cast<size_t>(set)], "read by first") << model.layers[layer].name;
  }
}

TEST(CoupledChannels, ASumWithTheImageStaysWhole) {
  const Model model = with_layers(
      "- conv: {name: b, filters: 3, size: 1}\n- shortcut: {name: sum, from: [b, input]}\n"
      "- concat: {from: [x, sum]}\n");
  const CoupledChannels coupled = couple_channels(model);
  for (const int set : coupled.sets[1])
    EXPECT_EQ(coupled.kept_for[static_cast<size_t>(set)], "joined to the image");
  expect_dead_channels_can_go(model, 32);
}

// Steps of a stack of residual blocks share one set of channels, and each block's inner ones are its own.
TEST(CoupledChannels, AreThoseOfAWholeStackOfSums) {
  const Model model = shipped_model("yolov4", 3);
  const CoupledChannels coupled = couple_channels(model);
  std::map<std::vector<int>, int> convolutions;  // with these channels
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (Model::kind(model.layers[i]) == "conv") ++convolutions[coupled.sets[i]];
  }
  int stacks = 0;
  for (const auto& [sets, count] : convolutions) {
    if (count == 9) ++stacks;
  }
  EXPECT_EQ(stacks, 2) << "of 8 blocks each, with the convolution before them";
}

}  // namespace
}  // namespace brightnet::testing
