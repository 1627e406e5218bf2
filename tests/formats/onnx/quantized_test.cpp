// ONNX files of quantised networks: what is rounded where. Every graph passes ONNX's checker and strict shape inference
// when it is made; ONNX Runtime computes them in tests/end_to_end/onnx_runtime_test.cpp. OpenCV 4.6 is not asked: it reads
// no per-channel DequantizeLinear.
#include <cstring>
#include <map>

#include "detect/quantization/calibrate.h"
#include "formats/onnx/model.h"
#include "tests/detect/quantization/one_picture.h"
#include "tests/layers/every_layer.h"

namespace brightnet::testing {
namespace {

class QuantizedGraph {
 public:
  explicit QuantizedGraph(Model model, bool symmetric = false) {
    const RealisticModel made = realistic_model(std::move(model), 64);
    trained = calibrate(made.trained, OnePicture(made).inputs(made), {.symmetric = symmetric}).quantized;
    onnx_ = make_onnx_model(trained, {});
    for (const auto& node : onnx_.graph().node()) nodes_[node.output(0)] = &node;
    for (const auto& tensor : onnx_.graph().initializer()) constants_[tensor.name()] = &tensor;
  }

  /// The operator that makes a value; nullptr: it is a constant or the input.
  const onnx::NodeProto* maker(const std::string& value) const {
    const auto found = nodes_.find(value);
    return found == nodes_.end() ? nullptr : found->second;
  }
  const onnx::TensorProto& constant(const std::string& value) const { return *constants_.at(value); }
  std::string op(const std::string& value) const { return maker(value) ? maker(value)->op_type() : ""; }
  std::vector<const onnx::NodeProto*> all(const std::string& op) const {
    std::vector<const onnx::NodeProto*> found;
    for (const auto& node : onnx_.graph().node()) {
      if (node.op_type() == op) found.push_back(&node);
    }
    return found;
  }
  /// The scale of a value that was rounded: an output of DequantizeLinear.
  std::string scale(const std::string& value) const { return constant(maker(value)->input(1)).raw_data(); }

  TrainedModel trained;

 private:
  onnx::ModelProto onnx_;
  std::map<std::string, const onnx::NodeProto*> nodes_;
  std::map<std::string, const onnx::TensorProto*> constants_;
};

TEST(QuantizedOnnx, A8BitConvolutionReadsRoundedValuesWeightsAndBias) {
  const QuantizedGraph graph(shipped_model("yolov4-tiny", 3));
  int quantized = 0, floating = 0;
  for (const auto* conv : graph.all("Conv")) {
    if (graph.op(conv->input(1)).empty()) {
      ++floating;
      EXPECT_NE(conv->name().find("predict"), std::string::npos) << conv->name();
      continue;
    }
    ++quantized;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(graph.op(conv->input(i)), "DequantizeLinear") << conv->name();
    const auto& weight = graph.constant(graph.maker(conv->input(1))->input(0));
    EXPECT_EQ(weight.data_type(), onnx::TensorProto::INT8);
    // One scale an output channel; that of the bias is the product of the others'.
    const auto& scales = graph.constant(graph.maker(conv->input(1))->input(1));
    EXPECT_EQ(scales.dims(0), weight.dims(0));
    float input = 0, first = 0, bias = 0;
    std::memcpy(&input, graph.scale(conv->input(0)).data(), sizeof input);
    std::memcpy(&first, scales.raw_data().data(), sizeof first);
    std::memcpy(&bias, graph.scale(conv->input(2)).data(), sizeof bias);
    EXPECT_FLOAT_EQ(bias, input * first);
    EXPECT_EQ(graph.constant(graph.maker(conv->input(2))->input(0)).data_type(), onnx::TensorProto::INT32);
  }
  EXPECT_EQ(quantized, 19);
  EXPECT_EQ(floating, 2);
}

TEST(QuantizedOnnx, ActivationsAreRoundedOnEitherSide) {
  const QuantizedGraph graph(shipped_model("yolov4-tiny", 3));
  int rounded = 0;
  for (const auto* leaky : graph.all("LeakyRelu")) {
    EXPECT_EQ(graph.op(leaky->input(0)), "DequantizeLinear") << leaky->name();
    EXPECT_EQ(graph.op(graph.maker(graph.maker(leaky->input(0))->input(0))->input(0)), "Conv");
    rounded += graph.maker(leaky->name() + "/rounded") != nullptr ? 1 : 0;
  }
  EXPECT_EQ(rounded, 17) << "all but the two that the predicting convolutions read";
}

TEST(QuantizedOnnx, WhatIsConcatenatedOrPooledKeepsItsScale) {
  const QuantizedGraph graph(shipped_model("yolov4-tiny", 3));
  ASSERT_FALSE(graph.all("MaxPool").empty());
  for (const char* op : {"Concat", "MaxPool", "Resize"}) {
    for (const auto* node : graph.all(op)) {
      const auto* rounded = graph.maker(node->name() + "/rounded");
      if (!rounded) continue;  // of the heads
      const int inputs = op == std::string("Concat") ? node->input_size() : 1;
      for (int i = 0; i < inputs; ++i)
        EXPECT_EQ(graph.scale(node->input(i)), graph.scale(node->name() + "/rounded")) << node->name();
    }
  }
}

TEST(QuantizedOnnx, SymmetricValuesAreSignedWithoutAZeroPoint) {
  for (const bool symmetric : {false, true}) {
    const QuantizedGraph graph(shipped_model("yolov4-tiny", 3), symmetric);
    float image = 0;
    std::memcpy(&image, graph.scale("images/rounded").data(), sizeof image);
    EXPECT_FLOAT_EQ(image, symmetric ? 1 / 127.0f : 1 / 255.0f) << "white is the greatest value";
    for (const auto* node : graph.all("QuantizeLinear")) {
      const auto& zero = graph.constant(node->input(2));
      EXPECT_EQ(zero.data_type(), symmetric ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8);
      if (symmetric) {
        EXPECT_EQ(zero.raw_data(), std::string(1, '\0')) << node->name();
      }
    }
  }
}

TEST(QuantizedOnnx, ANetworkOfEveryLayerIsValid) {
  EXPECT_GT(QuantizedGraph(every_layer_model()).all("QuantizeLinear").size(), 10u);
}

// OIHW in the file and OHWI in the network, with a scale for each output channel, the first axis of both.
TEST(QuantizedOnnx, WeightsAndBiasesAreTheNetworksToHalfAStep) {
  const QuantizedGraph graph(every_layer_model());
  const TrainedModel& trained = graph.trained;
  const auto scales_of = [&](const onnx::NodeProto& node) {
    const std::string& bytes = graph.constant(node.input(1)).raw_data();
    std::vector<float> scales(bytes.size() / sizeof(float));
    std::memcpy(scales.data(), bytes.data(), bytes.size());
    return scales;
  };
  int compared = 0;
  for (const auto* conv : graph.all("Conv")) {
    if (graph.op(conv->input(1)).empty()) continue;
    ++compared;
    const std::string layer = conv->name().substr(0, conv->name().rfind('/'));
    const ParameterEntry &weight = *trained.layout.find(layer + ".weight"),
                         &bias = *trained.layout.find(layer + ".bias");
    const onnx::NodeProto &weights = *graph.maker(conv->input(1)), &biases = *graph.maker(conv->input(2));
    for (const auto* node : {&weights, &biases}) {
      ASSERT_EQ(node->attribute_size(), 1) << layer;
      EXPECT_EQ(node->attribute(0).name(), "axis") << layer;
      EXPECT_EQ(node->attribute(0).i(), 0) << layer;
    }
    const std::vector<float> scales = scales_of(weights), bias_scales = scales_of(biases);
    const std::string& bytes = graph.constant(weights.input(0)).raw_data();
    const std::string& sums = graph.constant(biases.input(0)).raw_data();
    const auto area = static_cast<size_t>(weight.shape[1] * weight.shape[2]),
               inputs = static_cast<size_t>(weight.shape[3]);
    ASSERT_EQ(scales.size(), bias.count) << layer;
    ASSERT_EQ(bytes.size(), weight.count) << layer;
    for (size_t o = 0; o < scales.size(); ++o) {
      for (size_t i = 0; i < inputs; ++i) {
        for (size_t k = 0; k < area; ++k) {
          const float theirs = scales[o] * static_cast<int8_t>(bytes[(o * inputs + i) * area + k]);
          ASSERT_NEAR(theirs, trained.values[weight.offset + (o * area + k) * inputs + i], 0.501f * scales[o])
              << layer;
        }
      }
      int32_t sum = 0;
      std::memcpy(&sum, sums.data() + o * sizeof sum, sizeof sum);
      const float ours = trained.values[bias.offset + o];
      ASSERT_NEAR(bias_scales[o] * static_cast<float>(sum), ours,
                  0.501f * bias_scales[o] + 1e-6f * std::abs(ours))
          << layer;
    }
  }
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace brightnet::testing
