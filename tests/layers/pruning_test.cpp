// Which channels are removed, and what is left.
#include "layers/pruning.h"

#include <numeric>

#include <fmt/format.h>

#include "layers/model/writer.h"
#include "tests/layers/every_layer.h"
#include "tests/layers/pruned.h"

namespace brightnet::testing {
namespace {

double flop_of(const Model& model, const InputSize& size) {
  const std::vector<double> flops = forward_flops(model, size);
  return std::accumulate(flops.begin(), flops.end(), 0.0);
}

struct Choice {
  CoupledChannels coupled;
  std::vector<bool> removed;
  Model left;

  Choice(const Model& model, const PruningTarget& target, FilterImportance by = FilterImportance::norm)
      : Choice(model, target, initial_parameters(model, ParameterLayout(model), 1), by) {}
  Choice(const Model& model, const PruningTarget& target, const std::vector<float>& values,
         FilterImportance by)
      : coupled(couple_channels(model)),
        removed(choose_removed(model, coupled, filter_importances(model, ParameterLayout(model), values, by),
                               target)),
        left(without_channels(model, coupled, removed)) {}
};

TEST(Pruning, LeavesTheShareOfTheFlopThatIsAskedFor) {
  for (const char* name : {"yolov4-tiny", "yolov4-tiny-3l", "yolov4"}) {
    const Model model = shipped_model(name, 3);
    const std::vector<float> values = initial_parameters(model, ParameterLayout(model), 1);
    for (const double keep : {0.9, 0.5, 0.25}) {
      for (const int multiple : {8, 16}) {
        SCOPED_TRACE(fmt::format("{}, {}, multiples of {}", name, keep, multiple));
        const Choice choice(model, {.keep = keep, .multiple = multiple, .size = {256, 320}}, values,
                            FilterImportance::norm);
        const double kept = flop_of(choice.left, {256, 320}) / flop_of(model, {256, 320});
        EXPECT_NEAR(kept / keep, 1, pruning_tolerance);
        for (size_t i = 0; i < model.layers.size(); ++i) {
          const int before = model.layers[i].channels, after = choice.left.layers[i].channels;
          if (before == after) continue;
          SCOPED_TRACE(model.layers[i].name);
          EXPECT_LT(after, before);
          EXPECT_EQ(after % multiple, 0);
          EXPECT_GE(after, std::max(8, before / 8));
        }
      }
    }
  }
}

TEST(Pruning, LeavesTheHeadsAndTheImageAlone) {
  const Model model = shipped_model("yolov4-tiny", 3);
  const Choice choice(model, {.keep = 0.2});
  const std::vector<bool> predicts = predicting_layers(model);
  int heads = 0;
  for (size_t i = 0; i < predicts.size(); ++i) {
    if (!predicts[i] && !is_head(model.layers[i])) continue;
    ++heads;
    EXPECT_EQ(choice.left.layers[i].channels, model.layers[i].channels);
  }
  EXPECT_EQ(heads, 4);
  EXPECT_EQ(choice.left.channels, 3);
  EXPECT_EQ(choice.left.classes, 3);
}

TEST(Pruning, RemovesNothingWhereAllIsKeptAndStopsAtTheFloor) {
  const Model model = shipped_model("yolov4-tiny", 3);
  EXPECT_TRUE(same_layers(Choice(model, {.keep = 1}).left.layers, model.layers));
  const Choice least(model, {.keep = 1e-6});
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (Model::kind(model.layers[i]) != "conv" || predicting_layers(model)[i]) continue;
    const int before = model.layers[i].channels, after = least.left.layers[i].channels;
    EXPECT_GE(after, std::max(8, before / 8)) << model.layers[i].name;
    EXPECT_LE(after, std::max(16, before / 8)) << model.layers[i].name << " has two halves of 8 at most";
  }
}

TEST(Pruning, RemovesTheFiltersThatMatterLeast) {
  const Model model = model_of(R"(
name: two
head: {anchors: [[10, 12]]}
activation: leaky
layers:
  - conv: {name: a, filters: 16, size: 3}
  - conv: {name: b, filters: 16, size: 3}
  - shortcut: {from: [b, a]}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                               2);
  const ParameterLayout layout(model);
  for (const FilterImportance by : enum_values<FilterImportance>()) {
    SCOPED_TRACE(enum_name(by));
    const std::string parameter = by == FilterImportance::scale ? "scale" : "weight";
    std::vector<float> values(layout.floats());
    // The odd channels matter in `a`, and 1, 2, 5, 6, … in `b`, which the signs do not change.
    const auto fill = [&](const std::string& name, auto&& importance) {
      const ParameterEntry& entry = *layout.find(name + '.' + parameter);
      for (size_t i = 0; i < entry.count; ++i) {
        const size_t channel = i / (entry.count / 16);
        values[entry.offset + i] = (i % 2 == 0 ? 1.0f : -1.0f) * importance(channel);
      }
    };
    fill("a", [](size_t channel) { return channel % 2 == 1 ? 5.0f : 1.0f; });
    fill("b", [](size_t channel) { return (channel + 1) / 2 % 2 == 1 ? 3000.0f : 1000.0f; });
    const Choice choice(model, {.keep = 0.01, .multiple = 8}, values, by);
    std::vector<int> left;
    for (int channel = 0; channel < 16; ++channel) {
      if (!is_removed(choice.removed, choice.coupled.sets[0][static_cast<size_t>(channel)]))
        left.push_back(channel);
    }
    // Each layer counts by its shares: a's 5 : 1 outweighs b's 3000 : 1000.
    EXPECT_EQ(left, (std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15}));
  }
}

// docs/deploy.md names the measures: of the weights 3, 4, 0 and 0, 0, -15 of two filters.
TEST(Pruning, AFilterCountsByItsMeasureAsAShareOfItsLayer) {
  const Model model = model_of(R"(
name: two
head: {anchors: [[10, 12]]}
layers:
  - conv: {name: a, filters: 2, size: 1}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                               2);
  const ParameterLayout layout(model);
  std::vector<float> values(layout.floats());
  const auto set = [&](const std::string& name, const std::vector<float>& numbers) {
    const ParameterEntry& entry = *layout.find(name);
    ASSERT_EQ(entry.count, numbers.size());
    std::copy(numbers.begin(), numbers.end(), values.begin() + static_cast<ptrdiff_t>(entry.offset));
  };
  set("a.weight", {3, 4, 0, 0, 0, -15});
  set("a.scale", {-1, 4});
  const auto shares = [&](FilterImportance by) { return filter_importances(model, layout, values, by)[0]; };
  EXPECT_EQ(shares(FilterImportance::norm), (std::vector<double>{5.0 / 20, 15.0 / 20}));
  EXPECT_EQ(shares(FilterImportance::scale), (std::vector<double>{1.0 / 5, 4.0 / 5}));
  EXPECT_EQ(shares(FilterImportance::taylor), (std::vector<double>{7.0 / 22, 15.0 / 22}));
}

// Two layers that cost the same, of which each step takes 8 channels. The third: of `a` are left 0.75, of which 0.18 are
// more than 0.2 of the whole of `b`.
TEST(Pruning, ALayerWhoseUnimportantChannelsAreGoneIsSpared) {
  const Model model = model_of(R"(
name: two
head: {anchors: [[10, 12]]}
layers:
  - conv: {name: a, filters: 32, size: 3}
  - conv: {name: b, from: input, filters: 32, size: 3}
  - concat: {from: [a, b]}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                               2);
  const CoupledChannels coupled = couple_channels(model);
  std::vector<std::vector<double>> importances(model.layers.size());
  for (const double eighth : {0.1, 0.15, 0.18, 0.57})
    importances[0].insert(importances[0].end(), 8, eighth / 8);
  for (const double eighth : {0.2, 0.2, 0.2, 0.4}) importances[1].insert(importances[1].end(), 8, eighth / 8);
  const auto left = [&](double keep) {
    const Model pruned =
        without_channels(model, coupled, choose_removed(model, coupled, importances, {.keep = keep}));
    return std::pair(pruned.layers[0].channels, pruned.layers[1].channels);
  };
  EXPECT_EQ(left(0.88), std::pair(24, 32));
  EXPECT_EQ(left(0.755), std::pair(16, 32));
  EXPECT_EQ(left(0.63), std::pair(16, 24));
}

// By scale nothing is known of convolutions without batch-norm, and what belongs to them alone stays.
TEST(Pruning, WithoutBatchNormThereIsNoScale) {
  const Model model = model_of(R"(
name: two
head: {anchors: [[10, 12]]}
activation: leaky
layers:
  - conv: {name: a, filters: 32, size: 3}
  - conv: {name: b, filters: 32, size: 3, batch_norm: false}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                               2);
  const Choice choice(model, {.keep = 0.01}, FilterImportance::scale);
  EXPECT_EQ(choice.left.layers[0].channels, 8);
  EXPECT_EQ(choice.left.layers[1].channels, 32);
}

TEST(Pruning, WhatIsLeftTrains) {
  const auto backend = make_cpu_backend();
  for (const Model& model : {every_layer_model(), shipped_model("yolov4-tiny", 3)}) {
    const PrunedPair pair(model, 64);
    BoundNetwork bound(*backend, pair.pruned, 2, 64, Precision::fp32, Mode::train);
    bound.set_values(pair.pruned_values);
    give_input(bound);
    const double loss = bound.loss();
    EXPECT_TRUE(std::isfinite(loss));
    // A small step down the gradient.
    const std::vector<float> gradients = bound.gradients();
    double squares = 0;
    for (const float gradient : gradients) squares += static_cast<double>(gradient) * gradient;
    ASSERT_GT(squares, 0);
    std::vector<float> values = pair.pruned_values;
    for (size_t i = 0; i < gradients.size(); ++i)
      values[i] -= static_cast<float>(1e-3 * loss / squares) * gradients[i];
    bound.set_values(values);
    EXPECT_LT(bound.loss(), loss);
  }
}

}  // namespace
}  // namespace brightnet::testing
