// A teacher sees the images of the network that it teaches, which a device beside its host keeps in two places in turn.
#include <gtest/gtest.h>

#include "tests/kernels/device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

constexpr const char* model_of_teacher = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

std::vector<std::byte> inferred_by(Network& network) {
  network.infer();
  const Tensor predictions = network.output(1);
  std::vector<std::byte> bytes(predictions.bytes());
  device().download(bytes.data(), predictions.data, bytes.size());
  return bytes;
}

TEST(CudaTeacherPixels, AreThoseOfTheStepInEveryStep) {
  const InputSize size(32, 64);
  const Model model = model_of(model_of_teacher, 2);
  BoundNetwork student(device(), model, 2, size, Precision::fp32, Mode::train),
      teacher(device(), model, 2, size, Precision::fp32, Mode::infer),
      alone(device(), model, 2, size, Precision::fp32, Mode::infer);
  std::vector<uint8_t> pixels(size_t{2} * 32 * 64 * 3);
  for (int step = 0; step < 4; ++step) {
    Random random(17, Purpose::test, 0, static_cast<uint64_t>(step));
    for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
    student.network().set_batch(pixels.data(), std::vector<std::vector<Truth>>(2));
    device().finish_uploads();
    teacher.network().set_pixels(student.network());
    alone.network().set_pixels(pixels.data());
    EXPECT_EQ(inferred_by(teacher.network()), inferred_by(alone.network())) << "step " << step;
  }
}

}  // namespace
}  // namespace brightnet::testing
