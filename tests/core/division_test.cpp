#include "core/division.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Division, RoundsUpOnlyWhereARestIsLeft) {
  EXPECT_EQ(divided_up(0, 3), 0);
  EXPECT_EQ(divided_up(1, 3), 1);
  EXPECT_EQ(divided_up(3, 3), 1);
  EXPECT_EQ(divided_up(4, 3), 2);
  EXPECT_EQ(divided_up(int64_t{1} << 40, 1), int64_t{1} << 40);
}

}  // namespace
}  // namespace brightnet
