#include "core/clock.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

// The work takes most of the time that passes meanwhile.
TEST(WorkClock, AddsUpTheSecondsOfTheDevicesWork) {
  constexpr size_t bytes = size_t{16} << 20;
  const OwnedArray<std::byte> memory(bytes);
  const auto clock = device().make_work_clock();
  EXPECT_EQ(clock->seconds(), 0);
  double before = 0;
  for (int interval = 0; interval < 3; ++interval) {
    const double begin = seconds_now();
    clock->begin();
    device().zero(memory, bytes);
    clock->end();
    device().synchronize();
    const double passed = seconds_now() - begin, worked = clock->seconds() - before;
    EXPECT_GT(worked, 0) << interval;
    EXPECT_LE(worked, 1.01 * passed + 1e-5) << interval;
    before += worked;
  }
}

}  // namespace
}  // namespace brightnet::testing
