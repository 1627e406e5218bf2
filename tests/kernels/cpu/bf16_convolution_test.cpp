// Both ways to compute a bf16 convolution against fp32, on every CPU: plan_convolution() chooses only the
// faster one.
#include <gtest/gtest.h>

#include "kernels/cpu/convolution.h"
#include "tests/kernels/device.h"

namespace brightnet::testing {
namespace {

using cpu::Bf16Products;

struct Passes {
  std::vector<double> y, dx, dw;
};

/// All three passes over the same numbers, which are numbers of bf16.
Passes run(Convolution& convolution, const ConvolutionSpec& spec) {
  const auto room = [](size_t bytes) { return OwnedTensor({1, 1, 1, static_cast<int>(bytes / 4 + 1)}); };
  const OwnedTensor weights = room(convolution.weight_bytes()),
                    workspace = room(convolution.workspace_bytes());
  convolution.bind((*weights).data, (*workspace).data);
  const auto given = [](const Shape& shape, DType type, uint64_t stream) {
    OwnedTensor tensor(shape, type);
    const OwnedTensor narrow = std::move(OwnedTensor(shape, DType::bf16).randomize(stream));
    tensor.set(narrow.values());
    return tensor;
  };
  const Shape flat{1, 1, 1, static_cast<int>(spec.weight_count())};
  const OwnedTensor masters = given(flat, DType::f32, 1), dw(flat);
  const OwnedTensor x = given(spec.input, spec.type, 2), dy = given(spec.output, spec.type, 3);
  const OwnedTensor y(spec.output, spec.type), dx(spec.input, spec.type);
  convolution.prepare(masters.floats());
  convolution.forward(*x, nullptr, *y);
  convolution.backward_data(*dy, *dx);
  convolution.backward_weights(*x, *dy, dw.floats(), false);
  return {y.values(), dx.values(), dw.values()};
}

class Bf16Convolution : public ::testing::TestWithParam<Bf16Products> {};

TEST_P(Bf16Convolution, IsTheFp32OneRounded) {
  if (GetParam() == Bf16Products::native && !__builtin_cpu_supports("avx512bw"))
    GTEST_SKIP() << "oneDNN has no bf16 convolutions on a CPU without AVX-512";
  ConvolutionSpec spec;
  spec.input = {3, 13, 13, 24};
  spec.output = {3, 7, 7, 40};
  spec.kernel = 3;
  spec.stride = 2;
  spec.padding = 1;
  const Passes expected = run(*cpu::plan_convolution(spec), spec);
  spec.type = DType::bf16;
  const Passes actual = run(*cpu::plan_bf16_convolution(spec, GetParam()), spec);
  const double tolerance = rounding(DType::bf16);
  EXPECT_LT(relative_error(actual.y, expected.y), tolerance);
  EXPECT_LT(relative_error(actual.dx, expected.dx), tolerance);
  EXPECT_LT(relative_error(actual.dw, expected.dw), 1e-5) << "summed in fp32";
}

// Without training, so few images at a time are converted that their fp32 copies stay in a core's cache.
TEST_P(Bf16Convolution, OfManyImagesIsThatOfEach) {
  if (GetParam() == Bf16Products::native && !__builtin_cpu_supports("avx512bw"))
    GTEST_SKIP() << "oneDNN has no bf16 convolutions on a CPU without AVX-512";
  ConvolutionSpec spec;
  spec.input = spec.output = {3, 512, 512, 4};
  spec.kernel = 1;
  spec.training = false;
  const auto forward = [](Convolution& convolution, const ConvolutionSpec& one) {
    const auto room = [](size_t bytes) { return OwnedTensor({1, 1, 1, static_cast<int>(bytes / 4 + 1)}); };
    const OwnedTensor weights = room(convolution.weight_bytes()),
                      workspace = room(convolution.workspace_bytes());
    convolution.bind((*weights).data, (*workspace).data);
    const OwnedTensor masters =
        std::move(OwnedTensor({1, 1, 1, static_cast<int>(one.weight_count())}).randomize(1));
    OwnedTensor x(one.input, one.type), y(one.output, one.type);
    x.set(std::move(OwnedTensor(one.input, DType::bf16).randomize(2)).values());
    convolution.prepare(masters.floats());
    convolution.forward(*x, nullptr, *y);
    return y.values();
  };
  const auto expected = forward(*cpu::plan_convolution(spec), spec);
  spec.type = DType::bf16;
  EXPECT_LT(relative_error(forward(*cpu::plan_bf16_convolution(spec, GetParam()), spec), expected),
            2 * rounding(DType::bf16));
}

INSTANTIATE_TEST_SUITE_P(Ways, Bf16Convolution,
                         ::testing::Values(Bf16Products::native, Bf16Products::in_fp32), [](const auto& way) {
                           return std::string(way.param == Bf16Products::native ? "Native" : "InFp32");
                         });

}  // namespace
}  // namespace brightnet::testing
