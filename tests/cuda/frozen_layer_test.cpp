// A frozen layer between trained ones on the CUDA backend against the CPU's: batch-norm is folded into its
// weights, which have no place of their own in fp32.
#include <gtest/gtest.h>

#include "tests/kernels/device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

constexpr const char* model_with_a_middle = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {name: middle, filters: 16, size: 3, stride: 2}
  - conv: {filters: 16, size: 3}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

TEST(CudaFrozenLayer, PassesTheGradientOnLikeTheCpus) {
  Model model = model_of(model_with_a_middle, 3);
  model.layers[1].rate = 0;
  const auto cpu = make_cpu_backend();
  BoundNetwork expected(*cpu, model, 2, 32, Precision::fp32, Mode::train);
  BoundNetwork actual(device(), model, 2, 32, Precision::fp32, Mode::train);
  // More than one step: the first one overwrites all memory that belongs to steps.
  for (uint64_t step = 0; step < 3; ++step) {
    give_input(expected, step);
    give_input(actual, step);
    const double loss = expected.loss();
    EXPECT_NEAR(actual.loss(), loss, 1e-4 * loss) << "step " << step;
    const auto gradients = expected.gradients();
    EXPECT_LT(relative_error(actual.gradients(), gradients), 1e-3) << "step " << step;
  }
}

}  // namespace
}  // namespace brightnet::testing
