#include "data/augment/mixup.h"

#include <vector>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Mixup, IsTheMeanOfBoth) {
  std::vector<uint8_t> pixels, other, expected;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      pixels.push_back(static_cast<uint8_t>(a));
      other.push_back(static_cast<uint8_t>(b));
      expected.push_back(static_cast<uint8_t>(a / 2 + b / 2 + (a % 2 || b % 2)));
    }
  }
  blend_half(pixels.data(), other.data(), pixels.size());
  EXPECT_EQ(pixels, expected);
}

}  // namespace
}  // namespace brightnet
