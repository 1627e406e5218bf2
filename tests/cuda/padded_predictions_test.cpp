// In 16-bit types the predictions of heads have whole vectors of channels in a GPU's memory: networks train and detect as
// the CPU's do, and their parameters know nothing of it.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

// For four classes two heads of 18 and 9 channels, of which the second has a window of 3.
constexpr const char* two_heads = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20], [40, 40]]}
layers:
  - conv: {filters: 16, size: 3, stride: 4}
  - conv: {name: fine, filters: 16, size: 3, stride: 2}
  - conv: {name: predict_fine, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {from: fine, filters: 16, size: 3, stride: 2}
  - conv: {name: predict_coarse, filters: auto, size: 3, batch_norm: false, activation: linear}
  - yolo: {mask: [2]}
)";
constexpr int predict_fine = 2, predict_coarse = 5, classes = 4, image_count = 3, input_pixels = 64;
constexpr Precision narrow_precisions[] = {Precision::fp16, Precision::bf16};

bool gpu_computes_in(Precision precision) {
  const auto types = tested_device().compute_types;
  return std::find(types.begin(), types.end(), compute_type(precision)) != types.end();
}

BoundNetwork bound_to(Backend& backend, Precision precision, Mode mode, bool loss = false) {
  return {backend, model_of(two_heads, classes), image_count, input_pixels, precision, mode, false, loss};
}

/// 1 − the cosine of the angle between two gradients, of one parameter.
double angle(const ParameterEntry& entry, const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = entry.offset; i < entry.offset + entry.count; ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return 1 - dot / std::sqrt(aa * bb);
}

TEST(CudaPaddedPredictions, TrainAsTheCpuDoes) {
  constexpr float scale = 256;
  const auto cpu = make_cpu_backend();
  BoundNetwork expected = bound_to(*cpu, Precision::fp32, Mode::train);
  give_input(expected, 2);
  const double loss = expected.loss(scale);
  const std::vector<float> gradients = expected.gradients();
  for (const Precision precision : narrow_precisions) {
    if (!gpu_computes_in(precision)) continue;
    SCOPED_TRACE(enum_name(precision));
    BoundNetwork actual = bound_to(device(), precision, Mode::train);
    Network& network = actual.network();
    EXPECT_EQ(network.output_shape(predict_fine).c, 18);
    EXPECT_EQ(network.output(predict_fine).pixel_stride(), 24u);
    EXPECT_EQ(network.convolution(predict_coarse)->zero_outputs, 16 - 9);
    EXPECT_EQ(network.memory_needs(predict_coarse).rounded_gradient, size_t{2} * 16 * 3 * 3 * 16);
    EXPECT_EQ(network.flops(), expected.network().flops());
    ASSERT_EQ(actual.layout().floats(), expected.layout().floats());
    // Launched one by one, then captured, then replayed.
    for (int step = 0; step < 3; ++step) {
      give_input(actual, 2);
      network.forward_backward({scale}, false);
      const std::vector<float> own = actual.gradients();
      for (const ParameterEntry& entry : actual.layout().entries()) {
        if (entry.offset >= own.size()) continue;
        EXPECT_LT(angle(entry, own, gradients), precision == Precision::fp16 ? 0.002 : 0.05)
            << entry.name << ", step " << step;
        const size_t end = std::min(own.size(), (entry.offset + entry.count + 15) / 16 * 16);
        for (size_t gap = entry.offset + entry.count; gap < end; ++gap)
          ASSERT_EQ(own[gap], 0) << "behind " << entry.name;
      }
      double own_loss = 0;
      for (const YoloLoss& part : network.losses()) own_loss += part.box + part.objectness + part.classes;
      EXPECT_NEAR(own_loss / loss, 1, 0.01);
    }
    // A second micro-batch adds the same.
    const std::vector<float> once = actual.gradients();
    give_input(actual, 2);
    network.forward_backward({scale}, true);
    const std::vector<float> twice = actual.gradients();
    for (size_t i = 0; i < once.size(); ++i) ASSERT_FLOAT_EQ(twice[i], 2 * once[i]) << i;
  }
}

TEST(CudaPaddedPredictions, DetectAndHaveTheLossOfTheCpu) {
  const auto cpu = make_cpu_backend();
  BoundNetwork expected = bound_to(*cpu, Precision::fp32, Mode::infer, true);
  const std::vector<std::vector<Truth>> truths(
      image_count, {{{0.4f, 0.6f, 0.3f, 0.2f}, 1}, {{0.7f, 0.3f, 0.5f, 0.4f}, 3}});
  const auto infer = [&](BoundNetwork& bound) {
    give_input(bound, 3);
    bound.network().infer();
    // Everything, so that nothing lies near the threshold.
    return bound.network().detections(0.0f);
  };
  const auto detections = infer(expected);
  const std::vector<YoloLoss> losses = expected.network().loss(truths);
  for (const Precision precision : narrow_precisions) {
    if (!gpu_computes_in(precision)) continue;
    SCOPED_TRACE(enum_name(precision));
    BoundNetwork actual = bound_to(device(), precision, Mode::infer, true);
    for (int time = 0; time < 3; ++time) {
      const auto found = infer(actual);
      for (int image = 0; image < image_count; ++image) {
        ASSERT_EQ(found[image].size(), detections[image].size());
        for (size_t i = 0; i < found[image].size(); ++i) {
          ASSERT_EQ(found[image][i].class_id, detections[image][i].class_id);
          ASSERT_NEAR(found[image][i].score, detections[image][i].score, 0.02 * detections[image][i].score);
          ASSERT_NEAR(found[image][i].box.x, detections[image][i].box.x, 0.01);
        }
      }
    }
    const std::vector<YoloLoss> own = actual.network().loss(truths);
    for (int image = 0; image < image_count; ++image) {
      EXPECT_NEAR(own[image].box / losses[image].box, 1, 0.02);
      EXPECT_NEAR(own[image].objectness / losses[image].objectness, 1, 0.02);
      EXPECT_NEAR(own[image].classes / losses[image].classes, 1, 0.02);
    }
  }
}

// Where the predictions are not a convolution's alone, or not in 16 bits, there is nothing to pad.
TEST(CudaPaddedPredictions, AreThoseOfALinearConvolutionInSixteenBits) {
  const auto padding = [](const std::string& predict, Precision precision) {
    const std::string yaml =
        "head: {anchors: [[10, 12], [24, 20]]}\nlayers:\n  - conv: {filters: 16, size: 3}\n  - conv: {name: predict, size: 1, " +
        predict + "}\n  - yolo: {mask: [0, 1]}\n";
    BoundNetwork bound(device(), model_of(yaml, classes), 1, 32, precision, Mode::train);
    return bound.network().convolution(1)->zero_outputs;
  };
  const std::string linear = "filters: auto, batch_norm: false, activation: linear";
  EXPECT_EQ(padding(linear, Precision::fp32), 0);
  for (const Precision precision : narrow_precisions) {
    if (!gpu_computes_in(precision)) continue;
    EXPECT_EQ(padding(linear, precision), 6);
    for (const std::string other : {"filters: auto, batch_norm: true, activation: linear",
                                    "filters: auto, batch_norm: false, activation: logistic"})
      EXPECT_EQ(padding(other, precision), 0) << other;
    EXPECT_EQ(padding("filters: 18, groups: 2, batch_norm: false, activation: linear", precision), 0);
    EXPECT_EQ(padding(linear + ", precision: fp32", precision), 0);
  }
}

}  // namespace
}  // namespace brightnet::testing
