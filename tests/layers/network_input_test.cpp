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

}  // namespace
}  // namespace brightnet
