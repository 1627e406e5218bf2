#include "train/run/report/letters.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Letters, LatinLettersLoseTheirMarks) {
  EXPECT_EQ(drawable("a b~?"), "a b~?");
  EXPECT_EQ(drawable("Zähler Straße ÆØÅ"), "Zahler Strasse AEOA");
  EXPECT_EQ(drawable("žluťoučký Łódź İstanbul"), "zlutoucky Lodz Istanbul");
  EXPECT_EQ(drawable("người đường"), "nguoi duong");
  EXPECT_EQ(drawable("și țară, cafe\u0301 – été"), "si tara, cafe - ete");
}

TEST(Letters, OtherCharactersAndBrokenBytesAreQuestionMarks) {
  EXPECT_EQ(drawable("a 猫\xF0\x9F\x90\x88"), "a ??");
  EXPECT_EQ(drawable("tab\there"), "tab?here");
  EXPECT_EQ(drawable("\xC3(\xFF\xE7\x8C"), "?(???");
}

TEST(Letters, ANameThatCannotBeShownIsANumber) {
  EXPECT_EQ(drawable_name("Fußgänger", 1), "Fussganger");
  EXPECT_EQ(drawable_name("кошка", 0), "class 0");
  EXPECT_EQ(drawable_name("猫 cat", 7), "class 7");
  EXPECT_EQ(drawable_name("what?", 3), "what?");
}

TEST(Letters, NumberedNamesAreSaidInASentence) {
  EXPECT_EQ(numbered_names({"cat", "Hündin"}), "");
  EXPECT_EQ(numbered_names({"cat", "犬"}),
            "Pictures can show Latin letters only and number the other classes: '犬' is class 1.");
  EXPECT_EQ(
      numbered_names({"一", "二", "三", "四", "五"}),
      "Pictures can show Latin letters only and number the other classes: '一' is class 0, '二' is class "
      "1, '三' is class 2 and 2 more.");
}

}  // namespace
}  // namespace brightnet
