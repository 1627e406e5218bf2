// Images whose pixels are numbers already, as darknet's resize makes them, in a device's memory: there an image in 16 bits
// has whole vectors of channels.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/kernels/device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

constexpr const char* model_of_float_pixels = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// The bytes of the predictions of two images, given as bytes or as the same numbers from 0 to 1.
std::vector<std::byte> predictions_of(BoundNetwork& bound, const std::vector<uint8_t>& pixels, bool numbers) {
  Network& network = bound.network();
  if (numbers) {
    std::vector<float> values;
    for (const uint8_t pixel : pixels) values.push_back(static_cast<float>(pixel) / 255.0f);
    network.set_values(values.data());
  } else {
    network.set_pixels(pixels.data());
  }
  network.infer();
  const Tensor predictions = network.output(1);
  std::vector<std::byte> bytes(predictions.bytes());
  device().download(bytes.data(), predictions.data, bytes.size());
  return bytes;
}

TEST(CudaFloatPixels, AreSeenAsTheBytesThatTheyWere) {
  std::vector<uint8_t> pixels(size_t{2} * 32 * 64 * 3);
  Random random(12, Purpose::test);
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16}) {
    const auto types = tested_device().compute_types;
    if (std::find(types.begin(), types.end(), compute_type(precision)) == types.end()) continue;
    SCOPED_TRACE(enum_name(precision));
    BoundNetwork bound(device(), model_of(model_of_float_pixels, 2), 2, {32, 64}, precision, Mode::infer);
    EXPECT_EQ(predictions_of(bound, pixels, true), predictions_of(bound, pixels, false));
  }
}

}  // namespace
}  // namespace brightnet::testing
