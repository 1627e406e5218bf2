// What the host and a device that works beside it hand to each other.
#include <cstring>

#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

// While the device computes a step, the host sees the value after the one before.
TEST(Readback, GivesTheValueBeforeTheOneThatIsUnderWay) {
  const OwnedArray<int> number(1);
  const auto readback = device().make_readback(sizeof(int));
  EXPECT_EQ(readback->value(), nullptr) << "before anything was asked for";
  for (int step = 1; step <= 5; ++step) {
    number.set({10 * step});
    readback->request(number);
    const void* const value = readback->value();
    const int before = device().works_beside_host() ? step - 1 : step;
    ASSERT_EQ(value != nullptr, before > 0) << step;
    if (!value) continue;
    int read = 0;
    std::memcpy(&read, value, sizeof read);
    EXPECT_EQ(read, 10 * before) << step;
  }
}

// With double buffering: no upload overwrites what queued work still reads.
TEST(UploadsAhead, WaitForTheWorkThatReadsTheBufferBefore) {
  constexpr size_t steps = 100, size = 16;
  const OwnedArray<int> first(size), second(size), seen(steps * size);
  auto* const host = static_cast<int*>(device().allocate_host(size * sizeof(int)));
  for (size_t step = 0; step < steps; ++step) {
    std::fill_n(host, size, static_cast<int>(step));
    int* const place = step % 2 == 0 ? first : second;
    device().upload_ahead(place, host, size * sizeof(int));
    device().copy(seen.data() + step * size, place, size * sizeof(int));
    device().finish_uploads();
  }
  device().synchronize();
  device().release_host(host);
  const std::vector<int> all = seen.get();
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i / size)) << i;
}

}  // namespace
}  // namespace brightnet::testing
