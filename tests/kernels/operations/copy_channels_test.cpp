#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

struct Copy {
  Shape from;
  int from_channel;
  int to_channels, to_channel;  ///< of the destination
  int channels;
};

const Copy copies[] = {
    {{3, 13, 13, 24}, 12, 12, 0, 12},  // the second group of a split
    {{1, 19, 3, 255}, 0, 258, 3, 255}, {{1, 1, 1, 3}, 1, 3, 2, 1},
    {{3, 26, 26, 64}, 0, 128, 64, 64},                                   // the second half of a concatenation
    {{1, 26, 26, 64}, 32, 64, 32, 32}, {{2, 20, 20, 33}, 0, 33, 0, 33},  // whole pixels: one run
    {{17, 5, 3, 24}, 8, 40, 24, 16},
};

TEST(CopyChannels, MovesTheChosenChannelsAndNoOthers) {
  for (const DType type : compute_types()) {
    for (const bool accumulate : {false, true}) {
      for (const Copy& copy : copies) {
        Shape to_shape = copy.from;
        to_shape.c = copy.to_channels;
        OwnedTensor from(copy.from, type), to(to_shape, type);
        from.randomize(1);
        to.randomize(2);
        std::vector<double> expected = to.values();
        for (size_t pixel = 0; pixel < copy.from.pixels(); ++pixel) {
          for (int c = 0; c < copy.channels; ++c) {
            double& element = expected[pixel * to_shape.c + copy.to_channel + c];
            element = from[pixel * copy.from.c + copy.from_channel + c] + (accumulate ? element : 0.0);
          }
        }
        device().copy_channels(*from, copy.from_channel, *to, copy.to_channel, copy.channels, accumulate);
        expect_near(to, expected, accumulate ? rounding(type) : 0.0, accumulate ? 1e-7 : 0.0);
      }
    }
  }
}

TEST(CopyChannels, OverwritesWhatWasNan) {
  OwnedTensor from({1, 5, 5, 8}), to({1, 5, 5, 8});
  from.randomize(3);
  device().copy_channels(*from, 0, *to, 0, 8, false);
  EXPECT_EQ(to.values(), from.values());
}

TEST(CopyChannels, TakesSlices) {
  for (const DType type : compute_types()) {
    for (const int first : {0, 3, 8, 16}) {
      OwnedTensor from({2, 5, 7, 40}, type), to({2, 5, 7, 56}, type);
      from.randomize(4);
      to.randomize(5);
      std::vector<double> expected = to.values();
      for (size_t pixel = 0; pixel < from.shape().pixels(); ++pixel) {
        for (int c = 0; c < 16; ++c) expected[pixel * 56 + 24 + first + c] = from[pixel * 40 + first + 8 + c];
      }
      device().copy_channels(slice_channels(*from, first, 24), 8, slice_channels(*to, 24, 32), first, 16,
                             false);
      ASSERT_EQ(to.values(), expected);
    }
  }
}

TEST(CopyChannels, RefusesChannelsThatAreNotThere) {
  const OwnedTensor from({1, 2, 2, 8}), to({1, 2, 2, 4}), other({1, 2, 3, 8});
  EXPECT_THROW(device().copy_channels(*from, 4, *to, 1, 4, false), std::logic_error);
  EXPECT_THROW(device().copy_channels(*from, 5, *to, 0, 4, false), std::logic_error);
  EXPECT_THROW(device().copy_channels(*from, -1, *to, 0, 4, false), std::logic_error);
  EXPECT_THROW(device().copy_channels(*from, 0, *other, 0, 4, false), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
