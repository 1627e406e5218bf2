// Channels interleaved, against the formula of ShuffleNet (Zhang et al. 2018, section 3.1).
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

const std::vector<std::pair<int, Shape>>& shuffle_cases() {
  static const std::vector<std::pair<int, Shape>> all{{1, {1, 3, 5, 7}},   {3, {2, 1, 1, 3}},
                                                      {2, {3, 9, 7, 24}},  {3, {2, 5, 4, 33}},
                                                      {8, {1, 19, 3, 64}}, {5, {17, 2, 2, 40}}};
  return all;
}

/// x of every place of y, as the paper counts channels.
std::vector<double> shuffled(const OwnedTensor& x, int groups) {
  const Shape s = x.shape();
  const int each = s.c / groups;
  std::vector<double> y(x.count());
  for (size_t pixel = 0; pixel < s.pixels(); ++pixel) {
    for (int i = 0; i < groups; ++i) {
      for (int j = 0; j < each; ++j) y[pixel * s.c + j * groups + i] = x[pixel * s.c + i * each + j];
    }
  }
  return y;
}

TEST(ShuffleChannels, InterleavesTheGroups) {
  for (const DType type : compute_types()) {
    for (const auto& [groups, shape] : shuffle_cases()) {
      OwnedTensor x(shape, type, true), y(shape, type);
      x.randomize(1);
      device().shuffle_channels(groups, *x, *y, false);
      ASSERT_EQ(y.values(), shuffled(x, groups)) << groups << ' ' << to_string(shape);
    }
  }
}

TEST(ShuffleChannels, AddsToWhatIsThere) {
  for (const DType type : compute_types()) {
    for (const auto& [groups, shape] : shuffle_cases()) {
      OwnedTensor x(shape, type), y(shape, type);
      x.randomize(1);
      y.randomize(2);
      std::vector<double> expected = shuffled(x, groups);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += y[i];
      device().shuffle_channels(groups, *x, *y, true);
      expect_near(y, expected, rounding(type), 1e-7);
    }
  }
}

TEST(ShuffleChannels, WithAsManyGroupsAsAGroupHasChannelsIsPermutedBack) {
  for (const auto& [groups, shape] : shuffle_cases()) {
    OwnedTensor x(shape), y(shape), back(shape);
    x.randomize(1);
    device().shuffle_channels(groups, *x, *y, false);
    device().shuffle_channels(shape.c / groups, *y, *back, false);
    ASSERT_EQ(back.values(), x.values()) << groups << ' ' << to_string(shape);
  }
}

TEST(ShuffleChannels, RefusesGroupsThatAreNotEqual) {
  const OwnedTensor x({1, 2, 2, 8}), y({1, 2, 2, 8}), half({1, 2, 2, 8}, DType::bf16);
  EXPECT_THROW(device().shuffle_channels(3, *x, *y, false), std::logic_error);
  EXPECT_THROW(device().shuffle_channels(2, *x, *half, false), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
