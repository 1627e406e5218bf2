#include "core/text.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Text, ALongListIsCut) {
  std::vector<std::string> names{"a", "b"};
  EXPECT_EQ(enumerated(names), "a, b");
  names.resize(10'000, "c");
  EXPECT_TRUE(enumerated(names).starts_with("a, b, c, c"));
  EXPECT_TRUE(enumerated(names).ends_with("c … and 9980 more"));
}

TEST(Text, CountsSpeakOfOneAndOfMany) {
  EXPECT_EQ(counted(0, "box", "boxes"), "0 boxes");
  EXPECT_EQ(counted(1, "box", "boxes"), "1 box");
  EXPECT_EQ(counted(12, "box", "boxes"), "12 boxes");
}

TEST(Text, TrimmingLeavesTheBlanksInside) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \t\r\n"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed(std::string_view("\v\f\0 a\0\v", 7)), "a");
}

TEST(Text, LowerCaseIsOfLettersAlone) {
  EXPECT_EQ(lower_case(".JPeG 1_Ä"), ".jpeg 1_Ä");
}

TEST(Text, WordsAreSeparatedByAnyNumberOfBlanks) {
  EXPECT_EQ(words(" Car  0\t1.5\r\n"), (std::vector<std::string_view>{"Car", "0", "1.5"}));
  EXPECT_TRUE(words(" \t").empty());
}

TEST(Text, ANumberIsDecimalFiniteAndNothingElse) {
  EXPECT_EQ(parse_number(" 0.25 "), 0.25);
  EXPECT_EQ(parse_number("+3"), 3);
  EXPECT_EQ(parse_number("-1e-2"), -0.01);
  for (const char* text : {"", "x", "1x", "1 2", "1,5", "nan", "inf", "1e999", "0x10", "+-3", "++3"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(Text, AnIntegerIsDigitsThatItsTypeHoldsAndNothingElse) {
  EXPECT_EQ(parse_integer<int>("-07"), -7);
  EXPECT_EQ(parse_integer<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_integer<int>("2147483648"), std::nullopt);
  EXPECT_EQ(parse_integer<uint64_t>("-1"), std::nullopt);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "1x", "0x10"})
    EXPECT_EQ(parse_integer<int>(text), std::nullopt) << text;
}

TEST(Text, AFieldInQuotesMayHoldSeparatorsAndQuotes) {
  using List = std::vector<std::string>;
  EXPECT_EQ(csv_fields("a, b ,\"c, d\",\"say \"\"no\"\"\",\"\","),
            (List{"a", "b", "c, d", "say \"no\"", "", ""}));
  EXPECT_EQ(csv_fields("a;b,c", ';'), (List{"a", "b,c"}));
  EXPECT_EQ(csv_fields(""), List{""});
  EXPECT_EQ(csv_fields("a,\"b"), std::nullopt) << "its quote has no end";
  for (const char* field : {"plain", "with blanks", "a,b", "say \"no\"", "\"", ""})
    EXPECT_EQ(csv_fields(csv_quoted(field)), List{field}) << field;
  EXPECT_EQ(csv_quoted("plain"), "plain");
}

}  // namespace
}  // namespace brightnet
