// cuDNN's fused epilogues are tried for large outputs only, larger than those that the definition is summed
// up for; here they are held against the same convolution with the bias and the activation taken on the host.
#include <cmath>

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

/// Every 31st value: more take the host long.
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
          << with.convolution->description() << ' ' << static_cast<int>(activation) << ' ' << to_string(type);
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
