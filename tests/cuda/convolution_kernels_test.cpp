// The epilogue that follows a convolution where cuDNN fuses none, and the gradient's way into fp32. No
// operation of Backend is one of them alone.
#include "kernels/cuda/convolution_kernels.h"

#include "kernels/cuda/cuda_backend.h"
#include "tests/cuda/full_size.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

cudaStream_t stream() {
  return static_cast<cuda::CudaBackend&>(device()).stream();
}

// Heads have 255 channels; of 20 a vector of 8 ends inside a pixel, of 3 it covers several.
TEST(CudaBiasActivation, EveryElementGetsItsChannelsBias) {
  for (const DType type : compute_types()) {
    for (const int channels : {3, 20, 24, 255, 512}) {
      for (const bool misaligned : {false, true}) {
        const Shape shape{2, 3, 5, channels};
        OwnedTensor y(shape, type, misaligned), bias({1, 1, 1, channels});
        y.randomize(1);
        bias.randomize(2);
        std::vector<double> expected = y.values();
        for (size_t i = 0; i < expected.size(); ++i) {
          const double v = expected[i] + bias[i % static_cast<size_t>(channels)];
          expected[i] = v > 0 ? v : 0.1 * v;
        }
        cuda::bias_activation(*y, bias.floats(), Activation::leaky, stream());
        SCOPED_TRACE(std::to_string(channels) + ' ' + std::string(enum_name(type)));
        expect_near(y, expected, rounding(type), 1e-6);
      }
    }
  }
}

TEST(CudaBiasActivation, AWeightGradientIsTakenOverOrAdded) {
  for (const DType type : compute_types()) {
    OwnedTensor part({1, 1, 1, 1027}, type), dw({1, 1, 1, 1027});
    part.randomize(1);
    std::vector<double> expected = part.values();
    cuda::add_weight_gradient(*part, dw.floats(), false, stream());
    expect_near(dw, expected, 0, 0);
    for (double& value : expected) value *= 2;
    cuda::add_weight_gradient(*part, dw.floats(), true, stream());
    expect_near(dw, expected, 0, 0);
  }
}

TEST(CudaBiasActivation, FullSize) {
  SKIP_WITHOUT_ROOM();
  const int side = full_extent().side;
  struct Elements {
    DType type;
    int channels;
  };
  for (const auto [type, channels] : {Elements{DType::f32, 32}, {DType::f16, 64}, {DType::f32, 31}}) {
    SCOPED_TRACE(std::to_string(channels) + ' ' + std::string(enum_name(type)));
    const Images bias(1, {1, 1, 1, channels}, DType::f32, 2);
    expect_the_same_of_every_image([&, type = type, channels = channels](int n) {
      Images y(n, {1, side, side, channels}, type, 1);
      cuda::bias_activation(*y, (*bias).as<float>(), Activation::mish, stream());
      return y;
    });
  }
}

}  // namespace
}  // namespace brightnet::testing
