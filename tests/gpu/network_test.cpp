// The whole of yolov4 against the CPU: too much for the emulated GPU (tests/cuda/network_test.cpp has the
// rest).
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/kernels/device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

TEST(CudaNetwork, AStepOfYolov4IsLikeTheCpus) {
  constexpr int batch = 4, size = 96;
  const Model model = shipped_model("yolov4", 3);
  const auto cpu = make_cpu_backend();
  Random random(7, Purpose::test);
  std::vector<uint8_t> pixels(3 * size_t{batch} * size * size);
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  std::vector<std::vector<Truth>> truths(batch);
  for (auto& of_image : truths) of_image = {{{0.4f, 0.6f, 0.3f, 0.2f}, 1}, {{0.7f, 0.3f, 0.2f, 0.5f}, 2}};
  const auto step = [&](Backend& backend, Precision precision, double& loss) {
    BoundNetwork bound(backend, model, batch, size, precision, Mode::train);
    bound.network().set_pixels(pixels.data());
    bound.network().set_truths(truths);
    // Through a hundred layers gradients become smaller than fp16's smallest number, unless they are scaled.
    constexpr float scale = 1024;
    loss = bound.loss(scale);
    auto gradients = bound.gradients();
    gradients.resize(bound.layout().trainable_floats());
    for (float& value : gradients) value /= scale;
    return gradients;
  };
  double expected_loss = 0, loss = 0;
  const auto expected = step(*cpu, Precision::fp32, expected_loss);
  // A hundred batch-norms over few pixels make much of little: weights that differ by 1e-6 change the CPU's
  // own gradient by 6 %, so that its value says nothing in 16 bits.
  EXPECT_LT(relative_error(step(device(), Precision::fp32, loss), expected), 0.1);
  EXPECT_NEAR(loss, expected_loss, 1e-4 * expected_loss);
  step(device(), Precision::fp16, loss);
  EXPECT_NEAR(loss, expected_loss, 1e-2 * expected_loss);
}

}  // namespace
}  // namespace brightnet::testing
