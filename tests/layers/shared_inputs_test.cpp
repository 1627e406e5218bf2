// A tensor that layers of every kind read: each adds its part to the gradient that is there already. The same network in
// which each of them reads a copy of its own, an upsampling by 1, sums these parts in the copies instead.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::model_of;

/// Layers that all read `x`, and `gates` where they take one pixel; the last reader of each is a layer after them.
class SharedInputs {
 public:
  explicit SharedInputs(bool copies) : copies_(copies) {
    add("conv: {name: x, filters: 8, size: 3, stride: 2}");
    add("global_average_pool: {name: pooled, from: " + read("x") + "}");
    add("conv: {name: gates, from: pooled, filters: 8, size: 1, batch_norm: false, activation: logistic}");
    add("conv: {name: c, from: " + read("x") + ", filters: 8, size: 3}");
    add("conv: {name: biased, from: " + read("x") + ", filters: 8, size: 1, batch_norm: false}");
    add("max_pool: {name: max, from: " + read("x") + ", size: 3, stride: 1}");
    add("average_pool: {name: mean, from: " + read("x") + ", size: 3, stride: 1}");
    add("spp: {name: pyramid, from: " + read("x") + ", windows: [3, 5]}");
    add("split: {name: half, from: " + read("x") + ", groups: 2, part: 1}");
    add("channel_shuffle: {name: shuffled, from: " + read("x") + ", groups: 4}");
    add("shortcut: {name: sum, from: [" + read("x") + ", " + read("c") + "], activation: swish}");
    add("shortcut: {name: part, from: [half, " + read("x") + "], partial: true}");
    add("weighted_sum: {name: weighted, from: [" + read("c") + ", " + read("x") + "]}");
    add("multiply: {name: product, from: [" + read("x") + ", " + read("c") + "]}");
    add("scale_channels: {name: scaled, from: [" + read("x") + ", " + read("gates") + "]}");
    add("upsample: {name: large, from: " + read("x") + ", factor: 2}");
    add("space_to_depth: {name: small, from: large, block: 2}");
    add("space_to_depth: {name: folded, from: " + read("x") + ", block: 2}");
    add("upsample: {name: unfolded, from: folded, factor: 2}");
    add("concat: {name: beside, from: [" + read("x") + ", biased]}");
    add("conv: {name: last, from: " + read("x") + ", filters: 8, size: 1}");
    add("scale_channels: {name: again, from: [" + read("c") + ", " + read("gates") + "]}");
    add("concat: {from: [max, mean, pyramid, shuffled, sum, part, weighted, product, scaled, small, unfolded, "
        "beside, last, again]}");
    add("conv: {filters: auto, size: 1, batch_norm: false, activation: linear}");
    add("yolo: {mask: [0, 1]}");
  }
  const std::string& yaml() const { return yaml_; }

 private:
  void add(const std::string& layer) { yaml_ += "  - " + layer + '\n'; }
  std::string read(const std::string& name) {
    if (!copies_) return name;
    const std::string copy = "copy" + std::to_string(++count_);
    add("upsample: {name: " + copy + ", from: " + name + ", factor: 1}");
    return copy;
  }

  const bool copies_;
  int count_ = 0;
  std::string yaml_ =
      "activation: mish\nhead: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}\nlayers:\n";
};

std::vector<float> array_of(const std::vector<float>& all, const ParameterEntry& entry) {
  const auto begin = all.begin() + static_cast<long>(entry.offset);
  return {begin, begin + static_cast<long>(entry.count)};
}

double largest_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

TEST(SharedInputs, HaveTheSumOfTheirReadersGradients) {
  const auto backend = make_cpu_backend();
  BoundNetwork apart(*backend, model_of(SharedInputs(true).yaml(), 3), 2, 32, Precision::fp32, Mode::train);
  const std::vector<float> values = apart.values();
  give_input(apart);
  const double loss = apart.loss();
  const std::vector<float> expected = apart.gradients();
  for (const bool recompute : {false, true}) {
    SCOPED_TRACE(recompute ? "recomputed" : "kept");
    BoundNetwork shared(*backend, model_of(SharedInputs(false).yaml(), 3), 2, 32, Precision::fp32,
                        Mode::train, recompute);
    // Initial values depend on the numbers of layers.
    std::vector<float> same = shared.values();
    for (const ParameterEntry& entry : shared.layout().entries()) {
      const std::vector<float> array = array_of(values, *apart.layout().find(entry.name));
      std::copy(array.begin(), array.end(), same.begin() + static_cast<long>(entry.offset));
    }
    shared.set_values(same);
    give_input(shared);
    EXPECT_NEAR(shared.loss(), loss, 1e-5 * loss);
    const std::vector<float> gradients = shared.gradients();
    for (const ParameterEntry& entry : shared.layout().entries()) {
      if (is_running_statistic(entry.kind)) continue;
      EXPECT_LT(
          largest_distance(array_of(gradients, entry), array_of(expected, *apart.layout().find(entry.name))),
          1e-4)
          << entry.name;
    }
  }
}

}  // namespace
}  // namespace brightnet
