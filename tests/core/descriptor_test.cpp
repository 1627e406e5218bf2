#include "core/descriptor.h"

#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace brightnet {
namespace {

bool is_open(int number) {
  return ::fcntl(number, F_GETFD) >= 0;
}

TEST(Descriptor, IsClosedWithItsLastOwner) {
  std::optional<Descriptor> first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(*first);
  const int number = first->number();
  {
    const Descriptor second = *std::move(first);
    EXPECT_FALSE(*first);  // NOLINT(bugprone-use-after-move)
    first.reset();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, IsClosedAtOnceInThePlaceOfWhichAnotherComes) {
  Descriptor one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = one.number();
  ASSERT_TRUE(is_open(number));
  one = Descriptor();
  EXPECT_FALSE(one);
  EXPECT_FALSE(is_open(number));
}

}  // namespace
}  // namespace brightnet
