#include "train/setup/pretrained_boxes.h"

#include <cmath>

#include "tests/layers/models.h"
#include "tests/train/small_run.h"
#include "train/setup/trained_anchors.h"

namespace brightnet::testing {
namespace {

/// The small model with these words of its head.
Model model_with(const std::string& anchors, float scale_xy, int classes, const std::string& mask = "0, 1") {
  std::string yaml = small_model;
  yaml.replace(yaml.find("[[8, 8], [14, 14], [22, 22], [32, 32]]"), 38, anchors);
  yaml.replace(yaml.find("1.05"), 4, std::to_string(scale_xy));
  yaml.replace(yaml.find("mask: [0, 1]"), 12, "mask: [" + mask + "]");
  return model_of(yaml, classes);
}

constexpr const char* trained_anchors = "[[8, 8], [14, 14], [22, 22], [32, 32]]";
constexpr const char* other_anchors = "[[6, 12], [20, 9], [22, 22], [40, 50]]";
constexpr int trained_classes = 5;

/// The prediction layers of a network with random weights.
std::vector<PretrainedPrediction> trained_predictions() {
  const Model model = model_with(trained_anchors, 1.05f, trained_classes);
  const auto anchors = anchors_of(model).heads;
  std::vector<PretrainedPrediction> predictions;
  Random random(4, Purpose::weights, 0, 0);
  for (const char* layer : {"conv3", "conv5"}) {
    PretrainedPrediction& prediction = predictions.emplace_back();
    prediction = {.layer = layer,
                  .classes = trained_classes,
                  .anchors = anchors.at(predictions.size() - 1),
                  .scale_xy = 1.05f,
                  .weight = std::vector<float>(20 * 32),
                  .bias = std::vector<float>(20)};
    for (float& value : prediction.weight) value = 0.1f * random.normal();
    for (float& value : prediction.bias) value = 0.1f * random.normal();
  }
  return predictions;
}

/// A layer's outputs for one vector of 32 inputs.
std::vector<float> outputs_of(const float* weight, const float* bias, int channels) {
  std::vector<float> outputs;
  for (int o = 0; o < channels; ++o) {
    float sum = bias[o];
    for (int i = 0; i < 32; ++i) sum += weight[o * 32 + i] * std::sin(static_cast<float>(i));
    outputs.push_back(sum);
  }
  return outputs;
}

struct Kept {
  explicit Kept(const Model& model) : layout(model), values(layout.floats(), -7.0f) {
    layers = keep_boxes(trained_predictions(), model, layout, values);
  }
  std::vector<float> outputs(const std::string& layer, int channels) const {
    return outputs_of(values.data() + layout.find(layer + ".weight")->offset,
                      values.data() + layout.find(layer + ".bias")->offset, channels);
  }
  ParameterLayout layout;
  std::vector<float> values;
  std::vector<std::string> layers;
};

TEST(PretrainedBoxes, AreTheSameOnOtherAnchorsAndForOtherClasses) {
  const Model model = model_with(other_anchors, 1.05f, 2);
  const Kept kept(model);
  EXPECT_EQ(kept.layers, (std::vector<std::string>{"conv3", "conv5"}));
  const auto anchors = anchors_of(model).heads;
  for (size_t head = 0; head < 2; ++head) {
    const PretrainedPrediction trained = trained_predictions()[head];
    const auto theirs = outputs_of(trained.weight.data(), trained.bias.data(), 20),
               ours = kept.outputs(trained.layer, 14);
    for (size_t a = 0; a < 2; ++a) {
      const float *was = theirs.data() + a * 10, *is = ours.data() + a * 7;
      EXPECT_EQ(is[0], was[0]);
      EXPECT_EQ(is[1], was[1]);
      EXPECT_NEAR(anchors[head][a].w * std::exp(is[2]), trained.anchors[a].w * std::exp(was[2]), 1e-3);
      EXPECT_NEAR(anchors[head][a].h * std::exp(is[3]), trained.anchors[a].h * std::exp(was[3]), 1e-3);
    }
  }
}

TEST(PretrainedBoxes, MoveAsFastWithAnotherScaleOfTheirCentres) {
  const Kept kept(model_with(trained_anchors, 2, 2));
  const PretrainedPrediction trained = trained_predictions()[0];
  const auto theirs = outputs_of(trained.weight.data(), trained.bias.data(), 20),
             ours = kept.outputs("conv3", 14);
  const auto centre = [](float scale, float t) { return scale / (1 + std::exp(-t)) - (scale - 1) / 2; };
  for (const size_t i : {0, 1}) {
    constexpr float small = 0.01f;  // the same to first order
    EXPECT_NEAR(centre(2, small * ours[i]), centre(1.05f, small * theirs[i]), 1e-5);
    EXPECT_GT(std::abs(theirs[i]), 0.05);
  }
  EXPECT_EQ(ours[2], theirs[2]);
}

TEST(PretrainedBoxes, LeaveObjectnessAndClassesAndLayersOfOtherAnchorsAsTheyAre) {
  const Kept kept(model_with(other_anchors, 1.05f, 2, "0, 1, 2"));
  EXPECT_EQ(kept.layers, std::vector<std::string>{"conv5"}) << "conv3 has three anchors here";
  for (const ParameterEntry& entry : kept.layout.entries()) {
    const size_t channel = entry.count / static_cast<size_t>(entry.shape[0]);
    for (size_t i = 0; i < entry.count; ++i) {
      const bool box = entry.name.starts_with("conv5.") && i / channel % 7 < 4;
      ASSERT_EQ(kept.values[entry.offset + i] != -7.0f, box) << entry.name << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
