// What train.deterministic leaves out of a convolution: seen in the plan of a step, without a GPU.
#include <gtest/gtest.h>

#include "kernels/cuda/convolution.h"
#include "kernels/traffic.h"

namespace brightnet::cuda {
namespace {

bool fuses_sums(EngineSelection selection) {
  LaunchList list(132);
  ConvolutionSpec spec;
  spec.input = spec.output = {8, 76, 76, 64};
  spec.kernel = 3;
  spec.padding = 1;
  spec.type = DType::f16;
  spec.statistics = true;
  const auto convolution = cudnn_convolutions({.gpu = "", .selection = selection})(spec, nullptr);
  convolution->bind(list.address(convolution->weight_bytes()), list.address(convolution->workspace_bytes()));
  const size_t bytes = spec.input.count() * size_of(spec.type);
  convolution->forward({list.address(bytes), spec.input, spec.type}, nullptr,
                       {list.address(bytes), spec.output, spec.type});
  return convolution->output_sums() != nullptr;
}

TEST(EngineSelection, WhatIsReproducibleHasNoSumsFused) {
  EXPECT_TRUE(fuses_sums(EngineSelection::fastest));
  EXPECT_TRUE(fuses_sums(EngineSelection::recommended));
  EXPECT_FALSE(fuses_sums(EngineSelection::reproducible));
}

}  // namespace
}  // namespace brightnet::cuda
