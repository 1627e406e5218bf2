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

TEST(CudaConvolution, FusedEpiloguesAreThoseThatFollow) {
  for (const DType type : compute_types()) {
    ConvolutionSpec plain;
    plain.input = {2, 130, 130, 16};
    plain.output = {2, 130, 130, 128};
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
    const std::vector<double> sums = y.values(), biases = bias.values();
    for (const Activation activation :
         {Activation::linear, Activation::leaky, Activation::mish, Activation::swish, Activation::logistic}) {
      ConvolutionSpec spec = plain;
      spec.bias = true;
      spec.activation = activation;
      const Planned with(spec, w.floats());
      with.convolution->forward(*x, bias.floats(), *fused_y);
      std::vector<double> expected = sums;
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] = activated(activation, static_cast<float>(sums[i] + biases[i % biases.size()]));
      EXPECT_LT(relative_error(fused_y.values(), expected), 1e-5 + 2 * rounding(type))
          << with.convolution->description() << ' ' << static_cast<int>(activation) << ' ' << to_string(type);
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
