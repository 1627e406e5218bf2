#include "core/enum_names.h"

#include <gtest/gtest.h>

#include "core/config.h"

namespace brightnet {
namespace {

enum class Fruit : uint8_t { apple, pear, quince };

constexpr std::string_view enum_name(Fruit fruit) {
  switch (fruit) {
    case Fruit::apple: return "apple";
    case Fruit::pear: return "pear";
    case Fruit::quince: return "quince";
  }
  return {};
}

struct Basket {
  Fruit fruit = Fruit::pear;
  void fields(Fields& f) { f("fruit", fruit, "what is in it"); }
};

Basket read_basket(const std::string& text) {
  Basket basket;
  read_config(YamlDocument::parse(text, "basket.yaml").root(), basket);
  return basket;
}

TEST(EnumNames, ListsEveryValueInOrder) {
  EXPECT_EQ(enum_values<Fruit>(), (std::vector{Fruit::apple, Fruit::pear, Fruit::quince}));
  EXPECT_EQ(enum_names<Fruit>(), (std::vector<std::string>{"apple", "pear", "quince"}));
}

TEST(EnumNames, FindsAValueByItsNameAndNoOther) {
  EXPECT_EQ(enum_value<Fruit>("quince"), Fruit::quince);
  EXPECT_EQ(enum_value<Fruit>("Quince"), std::nullopt);
  EXPECT_EQ(enum_value<Fruit>(""), std::nullopt);
}

TEST(EnumNames, AreReadFromYamlAndPrintedToIt) {
  EXPECT_EQ(read_basket("fruit: quince").fruit, Fruit::quince);
  EXPECT_EQ(read_basket("{}").fruit, Fruit::pear);
  EXPECT_EQ(print_config(Basket{Fruit::apple}, false), "fruit: apple\n");
}

TEST(EnumNames, AnUnknownNameIsRefusedWithItsPlaceAndTheNearest) {
  try {
    read_basket("\nfruit: peer");
    FAIL() << "an unknown name was taken";
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("basket.yaml:2"), std::string::npos) << what;
    EXPECT_NE(what.find("pear"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace brightnet
