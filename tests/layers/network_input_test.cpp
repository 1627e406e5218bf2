#include "layers/network_input.h"

#include <gtest/gtest.h>

#include "tests/layers/models.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

TEST(NetworkInput, ObjectsWithoutRoomAreCountedOverAllImages) {
  const auto backend = make_cpu_backend();
  testing::BoundNetwork bound(*backend, testing::shipped_model("demo", 3), 3, 32, Precision::fp32,
                              Mode::train);
  const std::vector<uint8_t> pixels(size_t{3} * 32 * 32 * 3, 77);
  const Truth truth{{0.5f, 0.5f, 0.2f, 0.2f}, 1};
  std::vector<std::vector<Truth>> truths(3);
  truths[0].assign(Network::max_truths(3) + 7, truth);
  truths[1].assign(5, truth);
  const testing::Logged logged;
  bound.network().set_batch(pixels.data(), truths);
  EXPECT_NE(logged.text().find("12 objects of a batch are ignored"), std::string::npos) << logged.text();
}

// Of a head at a stride of 8 and no layer that would find two sides to be unlike.
TEST(NetworkInput, EachSideHasToBeAMultipleOfTheStride) {
  const auto backend = make_cpu_backend();
  const Model model = testing::model_of(R"(
head: {anchors: [[10, 12]]}
layers:
  - conv: {filters: 8, size: 3, stride: 8}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                                        1);
  for (const InputSize& size : {InputSize(64, 68), InputSize(68, 64), InputSize(64, 72)}) {
    std::string said = "accepted";
    try {
      testing::BoundNetwork(*backend, model, 1, size, Precision::fp32, Mode::infer);
    } catch (const InputError& error) {
      said = error.what();
    }
    EXPECT_EQ(said == "accepted", size == InputSize(64, 72)) << size.text();
    if (said != "accepted") {
      EXPECT_NE(said.find("Its sides must be multiples of 8"), std::string::npos) << said;
    }
  }
}

// As darknet's resize gives them.
TEST(NetworkInput, NumbersFromZeroToOneAreSeenAsTheBytesThatTheyWere) {
  const auto backend = make_cpu_backend();
  std::vector<uint8_t> pixels(size_t{2} * 32 * 64 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i % 251);
  std::vector<float> values;
  for (const uint8_t pixel : pixels) values.push_back(static_cast<float>(pixel) / 255.0f);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    testing::BoundNetwork bound(*backend, testing::shipped_model("demo", 3), 2, {32, 64}, precision,
                                Mode::infer);
    Network& network = bound.network();
    const auto predictions = [&] {
      network.infer();
      const Tensor last = network.output(network.layer_count() - 1);
      const auto* const bytes = static_cast<const std::byte*>(last.data);
      return std::vector<std::byte>(bytes, bytes + last.bytes());
    };
    network.set_pixels(pixels.data());
    const std::vector<std::byte> of_bytes = predictions();
    network.set_values(values.data());
    EXPECT_EQ(predictions(), of_bytes) << enum_name(precision);
  }
}

}  // namespace
}  // namespace brightnet
