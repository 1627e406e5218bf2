// cuDNN's fused epilogues, which are used for large outputs only: compared with the same convolution with
// bias and activation on the host, and the sums for batch-norm with sums of the output. The suite's backend takes
// the first variant that has an engine, which is the one with most fused. What timing chooses is
// tests/gpu/engine_choice_test.cpp's.
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "layers/parameters.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

struct Planned {
  std::unique_ptr<Convolution> convolution;
  DeviceBuffer weights, workspace;

  Planned(const ConvolutionSpec& spec, const float* masters)
      : convolution(device().plan_convolution(spec)),
        weights(device(), convolution->weight_bytes() + 1),
        workspace(device(), convolution->workspace_bytes() + 1) {
    convolution->bind(weights.data(), workspace.data());
    convolution->prepare(masters);
  }
};

float activated(Activation activation, float v) {
  float result = v;
  with_activation(activation, [&]<Activation A>() { result = activate<A>(v); });
  return result;
}

/// Every 31st value, to save time on the host.
std::vector<double> thinned(const OwnedTensor& tensor) {
  const std::vector<double> all = tensor.values();
  std::vector<double> some;
  for (size_t i = 0; i < all.size(); i += 31) some.push_back(all[i]);
  return some;
}

TEST(CudaConvolution, FusedEpiloguesAreThoseThatFollow) {
  for (const DType type : compute_types()) {
    ConvolutionSpec plain;
    plain.input = {16, 130, 130, 16};
    plain.output = {16, 130, 130, 128};
    plain.kernel = 3;
    plain.padding = 1;
    plain.type = type;
    plain.training = false;
    OwnedTensor x(plain.input, type), y(plain.output, type), fused_y(plain.output, type);
    OwnedTensor w({1, 1, 1, static_cast<int>(plain.weight_count())}), bias({1, 1, 1, plain.output.c});
    x.randomize(1);
    w.randomize(2, 0.1f);
    bias.randomize(3);
    const Planned without(plain, w.floats());
    without.convolution->forward(*x, nullptr, *y);
    const std::vector<double> sums = thinned(y), biases = bias.values();
    // cuDNN compiles each for some seconds: all in one type, the one with most parts in the others.
    std::vector<Activation> activations{Activation::mish};
    if (type == DType::f16)
      activations = {Activation::linear, Activation::leaky, Activation::mish, Activation::swish,
                     Activation::logistic};
    for (const Activation activation : activations) {
      ConvolutionSpec spec = plain;
      spec.bias = true;
      spec.activation = activation;
      const Planned with(spec, w.floats());
      with.convolution->forward(*x, bias.floats(), *fused_y);
      std::vector<double> expected = sums;
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] = activated(activation, static_cast<float>(sums[i] + biases[31 * i % biases.size()]));
      EXPECT_LT(relative_error(thinned(fused_y), expected), 1e-5 + 2 * rounding(type))
          << with.convolution->description() << ' ' << static_cast<int>(activation) << ' ' << enum_name(type);
    }
  }
}

TEST(CudaConvolution, AGradientIsAddedInPlaceToWhatIsThere) {
  for (const DType type : compute_types()) {
    for (const int kernel : {1, 3}) {
      ConvolutionSpec spec;
      spec.input = {16, 130, 130, 128};  // large enough for the engine that adds
      spec.output = {16, 130, 130, 64};
      spec.kernel = kernel;
      spec.padding = kernel / 2;
      spec.type = type;
      OwnedTensor dy(spec.output, type), dx(spec.input, type), part(spec.input, type),
          alone(spec.input, type);
      OwnedTensor w({1, 1, 1, static_cast<int>(spec.weight_count())});
      dy.randomize(1);
      dx.randomize(2);
      w.randomize(3, 0.1f);
      const Planned planned(spec, w.floats());
      planned.convolution->backward_data(*dy, *alone);
      std::vector<double> expected = thinned(dx);
      const std::vector<double> gradient = thinned(alone);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += gradient[i];
      ASSERT_TRUE(planned.convolution->add_backward_data(*dy, *dx, *part));
      EXPECT_LT(relative_error(thinned(dx), expected), 1e-5 + 2 * rounding(type))
          << planned.convolution->description() << ' ' << kernel << ' ' << enum_name(type);
    }
  }
}

TEST(CudaConvolution, SumsForBatchNormAreThoseOfTheOutput) {
  struct Case {
    Shape input;
    int outputs;
  };
  int summed = 0;
  for (const DType type : compute_types()) {
    if (type == DType::f32) continue;  // cuDNN makes them in the half precisions only
    for (const Case& c : {Case{{8, 76, 76, 64}, 64}, Case{{4, 152, 152, 32}, 64}, Case{{16, 19, 19, 256}, 64},
                          Case{{2, 32, 32, 8}, 8}, Case{{2, 16, 16, 16}, 24}, Case{{2, 7, 9, 24}, 16}}) {
      ConvolutionSpec spec;
      spec.input = c.input;
      spec.output = {c.input.n, c.input.h, c.input.w, c.outputs};
      spec.kernel = 3;
      spec.padding = 1;
      spec.type = type;
      spec.statistics = true;
      SCOPED_TRACE(to_string(spec.input) + " -> " + to_string(spec.output));
      const auto outputs = static_cast<size_t>(c.outputs);
      OwnedTensor x(spec.input, type), y(spec.output, type);
      OwnedTensor w({1, 1, 1, static_cast<int>(spec.weight_count())});
      x.randomize(1, 1.0f, 0.5f);
      w.randomize(2, 0.1f);
      const Planned planned(spec, w.floats());
      std::vector<float> actual(2 * outputs), before;
      // The second time over other numbers in the workspace: nothing of them may be left in the sums.
      for (const int byte : {0xff, 0x4b}) {
        const std::vector<uint8_t> noise(planned.workspace.bytes(), static_cast<uint8_t>(byte));
        device().upload(planned.workspace.data(), noise.data(), noise.size());
        planned.convolution->forward(*x, nullptr, *y);
        const float* sums = planned.convolution->output_sums();
        if (!sums) break;  // cuDNN has no engine with sums for this GPU
        before = std::exchange(actual, std::vector<float>(2 * outputs));
        device().download(actual.data(), sums, actual.size() * sizeof(float));
      }
      if (before.empty()) continue;
      ++summed;
      EXPECT_LT(relative_error(actual, before), 1e-5) << planned.convolution->description();
      std::vector<double> expected(2 * outputs), magnitude(outputs);
      const std::vector<double> values = y.values();
      for (size_t i = 0; i < values.size(); ++i) {
        expected[i % outputs] += values[i];
        magnitude[i % outputs] += std::fabs(values[i]);
        expected[outputs + i % outputs] += values[i] * values[i];
      }
      for (size_t i = 0; i < outputs; ++i) {
        // Of numbers before they are rounded, or after.
        EXPECT_NEAR(actual[i], expected[i], 1e-3 * magnitude[i]) << planned.convolution->description();
        EXPECT_NEAR(actual[outputs + i], expected[outputs + i], 2e-3 * expected[outputs + i]);
      }
    }
  }
  if (summed == 0) GTEST_SKIP() << "cuDNN has no engine with sums for this GPU";
}

}  // namespace
}  // namespace brightnet::testing
