// Two convolutions that are computed as one, on a GPU, against the same two computed one by one.
#include "tests/kernels/device.h"
#include "tests/layers/twins.h"

namespace brightnet::testing {
namespace {

TEST(CudaTwinConvolutions, TrainAsTheyDoOneByOne) {
  for (const bool recompute : {false, true}) {
    expect_twins_as_apart(device(), Precision::fp32, recompute, 1e-4);
    expect_twins_as_apart(device(), Precision::fp16, recompute, 0.02);
    expect_twins_as_apart(device(), Precision::bf16, recompute, 0.06);
  }
}

TEST(CudaTwinConvolutions, KeepTheirWorkspaceInTheCallsOfBoth) {
  expect_alike(train_twins(device(), network_of_short_lived_twins(true), Precision::fp16, false),
               train_twins(device(), network_of_short_lived_twins(false), Precision::fp16, false), 0.02);
}

TEST(CudaTwinConvolutions, GradientsOfALayerThatHasPassedAreFinal) {
  for (const Precision precision : {Precision::fp32, Precision::fp16})
    expect_final_gradients(device(), precision);
}

}  // namespace
}  // namespace brightnet::testing
