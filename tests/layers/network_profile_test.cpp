// What a network says of the time that its layers take.
#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet {
namespace {

TEST(NetworkProfile, TimesOfPassesAddUp) {
  const auto backend = make_cpu_backend();
  testing::BoundNetwork bound(*backend, testing::model_of(testing::groups_factors_and_sums, 3), 2, 32,
                              Precision::fp32, Mode::train);
  give_input(bound);
  std::vector<LayerTime> times;
  bound.network().profile(&times);
  std::vector<LayerTime> before(static_cast<size_t>(bound.network().layer_count()));
  for (int pass = 0; pass < 10; ++pass) {
    bound.loss();
    ASSERT_EQ(times.size(), before.size());
    for (size_t layer = 0; layer < times.size(); ++layer) {
      EXPECT_GE(times[layer].forward, before[layer].forward) << "layer " << layer << ", pass " << pass;
      EXPECT_GE(times[layer].backward, before[layer].backward) << "layer " << layer << ", pass " << pass;
    }
    before = times;
  }
  double forward = 0, backward = 0;
  for (const LayerTime& time : times) {
    forward += time.forward;
    backward += time.backward;
  }
  EXPECT_GT(forward, 0);
  EXPECT_GT(backward, 0);
}

}  // namespace
}  // namespace brightnet
