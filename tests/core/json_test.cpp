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

TEST(WholeNumber, IsExactUpToTheLastThatADoubleHas) {
  EXPECT_EQ(whole_number<int64_t>(Json::parse("9007199254740992.0")), int64_t{1} << 53);
  EXPECT_THROW(whole_number<int64_t>(Json::parse("9007199254740994.0")), Json::exception);
}

TEST(JsonNumbers, AreShortAndNullIsNotANumber) {
  EXPECT_EQ(shortest(0.87f), 0.87);
  EXPECT_EQ(shortest(-1e-7f), -1e-7);
  EXPECT_EQ(shortest(16777216), 16777216);
  EXPECT_TRUE(std::isnan(number_or_nan(Json::parse("null"))));
  EXPECT_EQ(number_or_nan(Json::parse("0.25")), 0.25);
}

TEST(JsonText, IsIndentedAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(to_text(Json{{"b", 1}, {"a", "caf\xe9"}}), "{\n  \"b\": 1,\n  \"a\": \"caf\ufffd\"\n}\n");
}

TEST(JsonText, ReadsBackWhatWasWrittenOfText) {
  const std::string text = "caf\u00e9 \"\n\U0001F600";
  EXPECT_EQ(written_text(text), text);
  EXPECT_EQ(written_text("caf\xe9"), "caf\ufffd");
  EXPECT_EQ(Json::parse(to_line(Json{{"a", "caf\xe9"}})), (Json{{"a", written_text("caf\xe9")}}));
}

}  // namespace
}  // namespace brightnet
