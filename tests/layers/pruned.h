// Networks in which some channels are dead, and the same networks without them: both compute the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "layers/pruning.h"
#include "tests/layers/models.h"

namespace brightnet::testing {

inline bool is_removed(const std::vector<bool>& removed, int set) {
  return removed[static_cast<size_t>(set)];
}

/// About two fifths of the sets that may go, at random, but not all channels of any layer.
inline std::vector<bool> random_removal(const CoupledChannels& coupled, uint64_t seed) {
  Random random(seed, Purpose::test);
  std::vector<bool> removed(coupled.kept_for.size());
  for (const auto& sets : coupled.sets) {
    for (const int set : std::set<int>(sets.begin(), sets.end())) {
      const auto at = static_cast<size_t>(set);
      if (coupled.kept_for[at].empty() && random.uniform(0, 1) < 0.4f) removed[at] = true;
    }
  }
  for (const auto& sets : coupled.sets) {
    const bool none_left =
        std::all_of(sets.begin(), sets.end(), [&](int set) { return is_removed(removed, set); });
    if (none_left) removed[static_cast<size_t>(sets.front())] = false;
  }
  return removed;
}

/// Values as training leaves them, except that what the sets' convolutions compute before their activation is 0 in the channels
/// of the removed sets.
inline std::vector<float> values_with_dead_channels(const Model& model, const ParameterLayout& layout,
                                                    const CoupledChannels& coupled,
                                                    const std::vector<bool>& removed, uint64_t seed) {
  std::vector<float> values = initial_parameters(model, layout, seed);
  for (const ParameterEntry& entry : layout.entries()) {
    Random random(seed, Purpose::test, static_cast<uint64_t>(entry.kind), static_cast<uint64_t>(entry.layer));
    for (size_t i = 0; i < entry.count; ++i) {
      float& value = values[entry.offset + i];
      if (entry.kind == ParameterKind::scale) value = random.uniform(0.6f, 1.4f);
      if (entry.kind == ParameterKind::shift) value = 0.3f * random.normal();
      if (entry.kind == ParameterKind::bias) value += 0.3f * random.normal();
      // One forward pass moves these by a known fraction towards the batch's statistics: statistics_of_batch().
      if (entry.kind == ParameterKind::running_variance) value = 0;
    }
    if (!std::holds_alternative<ConvAttributes>(model.layers[static_cast<size_t>(entry.layer)].attributes))
      continue;
    const auto& sets = coupled.sets[static_cast<size_t>(entry.layer)];
    const bool normalized = layout.find(model.layers[static_cast<size_t>(entry.layer)].name + ".scale");
    if (is_running_statistic(entry.kind) || (normalized && entry.kind == ParameterKind::weight)) continue;
    const size_t filter = entry.count / sets.size();
    for (size_t channel = 0; channel < sets.size(); ++channel) {
      if (is_removed(removed, sets[channel]))
        std::fill_n(values.begin() + static_cast<ptrdiff_t>(entry.offset + channel * filter), filter, 0.0f);
    }
  }
  return values;
}

/// The same with the running statistics of one batch.
inline std::vector<float> statistics_of_batch(const Model& model, const InputSize& size,
                                              const std::vector<float>& values) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model, 2, size, Precision::fp32, Mode::train);
  bound.set_values(values);
  give_input(bound);
  bound.network().forward();
  backend->synchronize();
  std::vector<float> moved = bound.values();
  for (const ParameterEntry& entry : bound.layout().entries()) {
    if (!is_running_statistic(entry.kind)) continue;
    for (size_t i = 0; i < entry.count; ++i) moved[entry.offset + i] /= batch_norm_momentum;
  }
  return moved;
}

/// What the heads read, head after head.
inline std::vector<std::vector<float>> head_outputs(const Model& model, const InputSize& size,
                                                    const std::vector<float>& values) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model, 2, size, Precision::fp32, Mode::infer);
  bound.set_values(values);
  give_input(bound);
  bound.network().infer();
  backend->synchronize();
  std::vector<std::vector<float>> outputs;
  for (int i = 0; i < bound.network().layer_count(); ++i) {
    if (!is_head(model.layers[static_cast<size_t>(i)])) continue;
    const Tensor y = bound.network().output(i);
    outputs.emplace_back(y.as<float>(), y.as<float>() + y.count());
  }
  return outputs;
}

inline void expect_same_outputs(const std::vector<std::vector<float>>& expected,
                                const std::vector<std::vector<float>>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t head = 0; head < expected.size(); ++head) {
    ASSERT_EQ(expected[head].size(), found[head].size());
    const auto [low, high] = std::minmax_element(expected[head].begin(), expected[head].end());
    const float range = *high - *low;
    ASSERT_GT(range, 0.01f) << "a constant proves nothing";
    float worst = 0;
    for (size_t i = 0; i < expected[head].size(); ++i) {
      const float off = std::abs(expected[head][i] - found[head][i]);
      worst = std::isfinite(off) ? std::max(worst, off) : std::numeric_limits<float>::infinity();
    }
    EXPECT_LT(worst / range, 2e-4f) << "head " << head;
  }
}

/// A network and the one without its dead channels.
struct PrunedPair {
  Model whole, pruned;
  CoupledChannels coupled;
  std::vector<bool> removed;
  ParameterLayout layout, pruned_layout;
  std::vector<float> values, pruned_values;

  PrunedPair(Model model, const InputSize& size, uint64_t seed = 1)
      : whole(std::move(model)),
        coupled(couple_channels(whole)),
        removed(random_removal(coupled, seed)),
        layout(whole) {
    pruned = without_channels(whole, coupled, removed);
    pruned_layout = ParameterLayout(pruned);
    values =
        statistics_of_batch(whole, size, values_with_dead_channels(whole, layout, coupled, removed, seed));
    pruned_values = values_without_channels(whole, layout, values, coupled, removed, pruned_layout);
  }
};

/// Returns the network without them.
inline Model expect_dead_channels_can_go(const Model& model, const InputSize& size, uint64_t seed = 1) {
  SCOPED_TRACE(model.name + ", seed " + std::to_string(seed));
  PrunedPair pair(model, size, seed);
  EXPECT_LT(pair.pruned_layout.trainable_parameters(), pair.layout.trainable_parameters());
  expect_same_outputs(head_outputs(pair.whole, size, pair.values),
                      head_outputs(pair.pruned, size, pair.pruned_values));
  return std::move(pair.pruned);
}

}  // namespace brightnet::testing
