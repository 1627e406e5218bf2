#include "core/json.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(WholeNumber, IsTakenInEitherSpelling) {
  EXPECT_EQ(whole_number<int>(Json::parse("-3")), -3);
  EXPECT_EQ(whole_number<int64_t>(Json::parse("3.0")), 3);
  EXPECT_EQ(whole_number<uint64_t>(Json::parse("18446744073709551615")), UINT64_MAX);
}

TEST(WholeNumber, ThatDoesNotFitIsRefused) {
  for (const char* text : {"2147483648", "-2147483649", "1e300", "2.5", "\"3\"", "null", "[3]"})
    EXPECT_THROW(whole_number<int>(Json::parse(text)), Json::exception) << text;
  EXPECT_THROW(whole_number<uint64_t>(Json::parse("-1")), Json::exception);
  EXPECT_THROW(whole_number<uint64_t>(Json::parse("-1.0")), Json::exception);
}

}  // namespace
}  // namespace brightnet
