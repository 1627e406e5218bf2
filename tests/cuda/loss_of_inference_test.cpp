// The loss of an inference network's predictions on the CUDA backend, image by image, against the CPU's.
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/kernels/device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

constexpr const char* model_with_loss = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]], class_weights: [1, 3, 0.5]}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";
constexpr int batch_images = 3, input_side = 32;

std::vector<YoloLoss> losses(Backend& backend, Precision precision, size_t images) {
  BoundNetwork bound(backend, model_of(model_with_loss, 3), batch_images, input_side, precision, Mode::infer,
                     false, true);
  Random random(5, Purpose::test);
  std::vector<uint8_t> pixels(batch_images * input_side * input_side * 3);
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  std::vector<std::vector<Truth>> truths(images);
  for (size_t i = 0; i < images; ++i) {
    for (size_t k = 0; k <= i; ++k)
      truths[i].push_back({{random.uniform(0.3f, 0.7f), random.uniform(0.3f, 0.7f), 0.4f, 0.3f},
                           static_cast<int>(random.below(3))});
  }
  bound.network().set_pixels(pixels.data());
  bound.network().infer();
  return bound.network().loss(truths);
}

TEST(CudaLossOfInference, IsTheCpusInEveryPrecision) {
  const auto cpu = make_cpu_backend();
  for (const size_t images : {size_t{batch_images}, size_t{2}}) {
    const auto expected = losses(*cpu, Precision::fp32, images);
    for (const DType type : tested_device().compute_types) {
      const Precision precision = type == DType::f32    ? Precision::fp32
                                  : type == DType::bf16 ? Precision::bf16
                                                        : Precision::fp16;
      const auto actual = losses(device(), precision, images);
      ASSERT_EQ(actual.size(), images);
      const double error = type == DType::f32 ? 1e-4 : 0.03;
      for (size_t i = 0; i < images; ++i) {
        EXPECT_NEAR(actual[i].box, expected[i].box, error * expected[i].box);
        EXPECT_NEAR(actual[i].objectness, expected[i].objectness, error * expected[i].objectness);
        EXPECT_NEAR(actual[i].classes, expected[i].classes, error * expected[i].classes);
        EXPECT_EQ(actual[i].assigned, expected[i].assigned);
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
