// Where Winograd's algorithm is chosen. What it computes is tested as all convolutions are, against the definition
// (tests/kernels/operations/convolution_test.cpp).
#include "kernels/cpu/winograd_convolution.h"

#include <gtest/gtest.h>

#include "kernels/cpu/convolution.h"
#include "kernels/cpu/onednn.h"

namespace brightnet::testing {
namespace {

ConvolutionSpec inference() {
  ConvolutionSpec spec;
  spec.input = {2, 13, 13, 32};
  spec.output = {2, 13, 13, 64};
  spec.kernel = 3;
  spec.padding = 1;
  spec.training = false;
  return spec;
}

bool in_onednn() {
  return DNNL_VERSION_MAJOR == 2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

TEST(WinogradConvolution, IsPlannedForInferenceWhereOneDnnHasIt) {
  if (!in_onednn()) GTEST_SKIP() << "oneDNN 2 has Winograd's algorithm, for CPUs with AVX-512";
  const auto planned = cpu::plan_convolution(inference());
  EXPECT_NE(planned->description().find("wino"), std::string::npos) << planned->description();
  ConvolutionSpec bf16 = inference();
  bf16.type = DType::bf16;
  const auto in_fp32 = cpu::plan_bf16_convolution(bf16, cpu::Bf16Products::in_fp32);
  EXPECT_NE(in_fp32->description().find("wino"), std::string::npos) << in_fp32->description();
  const auto native = cpu::plan_bf16_convolution(bf16, cpu::Bf16Products::native);
  EXPECT_EQ(native->description().find("wino"), std::string::npos) << native->description();
}

TEST(WinogradConvolution, IsNotPlannedWhereItDoesNotApply) {
  const auto refused = [](auto change) {
    ConvolutionSpec spec = inference();
    change(spec);
    return !cpu::plan_winograd_convolution(spec);
  };
  EXPECT_TRUE(refused([](auto& spec) { spec.training = true; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.groups = 2; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.input.c = 24; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.output.c = 255; }));
  EXPECT_TRUE(refused([](auto& spec) {
    spec.stride = 2;
    spec.output.h = spec.output.w = 7;
  }));
  EXPECT_TRUE(refused([](auto& spec) {
    spec.kernel = 1;
    spec.padding = 0;
  }));
}

}  // namespace
}  // namespace brightnet::testing
