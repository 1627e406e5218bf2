// A layer that does not train between others that do: batch-norm by the running statistics is folded into its weights, and its
// activation is a pass of its own.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::model_of;

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

/// A convolution between others, with batch-norm or with a bias.
Model model_with_a_middle(bool batch_norm) {
  return model_of(std::string(R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: first, filters: 8, size: 3, stride: 2}
  - conv: {name: middle, filters: 12, size: 3, activation: swish, batch_norm: )") +
                      (batch_norm ? "true" : "false") + R"(}
  - conv: {name: last, filters: 8, size: 3}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                  3);
}

// Its batch-norm by the running statistics is a factor on each filter and a bias: with these, a convolution that trains
// computes the same and passes on the same gradient.
TEST(FrozenLayer, PassesOnTheGradientThatItsFoldedConvolutionWould) {
  const auto backend = make_cpu_backend();
  Model model = model_with_a_middle(true);
  model.layers[1].rate = 0;
  BoundNetwork frozen(*backend, model, 2, 32, Precision::fp32, Mode::train);
  BoundNetwork folded(*backend, model_with_a_middle(false), 2, 32, Precision::fp32, Mode::train);
  auto values = frozen.values(), folded_values = folded.values();
  const auto of = [&](const char* name, size_t i) -> float& {
    return values[frozen.layout().find(std::string("middle.") + name)->offset + i];
  };
  const ParameterEntry& weight = *folded.layout().find("middle.weight");
  const size_t bias = folded.layout().find("middle.bias")->offset, each = weight.count / 12;
  for (size_t o = 0; o < 12; ++o) {
    const float at = static_cast<float>(o);
    of("scale", o) = 0.6f + 0.1f * at;
    of("shift", o) = 0.05f * at - 0.2f;
    of("running_mean", o) = 0.1f - 0.02f * at;
    of("running_variance", o) = 0.5f + 0.1f * at;
    const float factor = of("scale", o) / std::sqrt(of("running_variance", o) + batch_norm_epsilon);
    for (size_t i = 0; i < each; ++i) folded_values[weight.offset + o * each + i] *= factor;
    folded_values[bias + o] = of("shift", o) - of("running_mean", o) * factor;
  }
  frozen.set_values(values);
  folded.set_values(folded_values);
  give_input(frozen);
  give_input(folded);
  const double loss = folded.loss();
  EXPECT_NEAR(frozen.loss(), loss, 1e-5 * loss);
  const auto actual = frozen.gradients(), expected = folded.gradients();
  const auto array_of = [](const std::vector<float>& all, const ParameterEntry& entry) {
    const auto begin = all.begin() + static_cast<long>(entry.offset);
    return std::vector<float>(begin, begin + static_cast<long>(entry.count));
  };
  for (const auto& entry : frozen.layout().entries()) {
    if (entry.layer == 1) {
      EXPECT_EQ(array_of(frozen.values(), entry), array_of(values, entry)) << entry.name << " does not move";
    } else if (!is_running_statistic(entry.kind)) {
      EXPECT_LT(distance(array_of(actual, entry), array_of(expected, *folded.layout().find(entry.name))),
                1e-4)
          << entry.name;
    }
  }
}

}  // namespace
}  // namespace brightnet
