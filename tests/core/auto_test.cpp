#include "core/auto.h"

#include <gtest/gtest.h>

#include "core/config.h"

namespace brightnet {
namespace {

enum class Colour : uint8_t { red, green };
constexpr std::string_view enum_name(Colour colour) {
  switch (colour) {
    case Colour::red: return "red";
    case Colour::green: return "green";
  }
  return {};
}

struct Settings {
  Auto<int> batch;
  Auto<float> warmup = 3;
  Auto<Colour> colour;
  void fields(Fields& f) {
    f("batch", batch, "images").at_least(1).at_most(64);
    f("warmup", warmup, "").at_least(0);
    f("colour", colour, "of the hat");
  }
};

Settings read(const std::string& text) {
  Settings settings;
  read_config(YamlDocument::parse(text, "a.yaml").root(), settings);
  return settings;
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(Auto, StaysAutomaticUntilAValueIsGiven) {
  const Settings none = read(""), given = read("batch: 8\nwarmup: 0.5\ncolour: green\n");
  EXPECT_FALSE(none.batch.has_value());
  EXPECT_FALSE(none.colour.has_value());
  EXPECT_EQ(none.warmup, 3) << "its default";
  EXPECT_EQ(given.batch, 8);
  EXPECT_EQ(given.warmup, 0.5f);
  EXPECT_EQ(given.colour, Colour::green);
}

TEST(Auto, AnAutoInTheYamlTakesADefaultBack) {
  EXPECT_FALSE(read("warmup: auto\n").warmup.has_value());
}

TEST(Auto, ItsValueIsNotUsedWhileItIsAutomatic) {
  const Settings settings;
  EXPECT_THROW(settings.batch.value(), std::logic_error);
  EXPECT_EQ(settings.batch.value_or(5), 5);
}

TEST(Auto, LimitsApplyToAGivenValueAlone) {
  EXPECT_EQ(refusal("batch: auto\n"), "");
  EXPECT_EQ(refusal("batch: 64\n"), "");
  EXPECT_NE(refusal("batch: 0\n").find("a.yaml:1: 'batch' is 0 and must be at least 1"), std::string::npos)
      << refusal("batch: 0\n");
  EXPECT_NE(refusal("batch: 65\n").find("at most 64"), std::string::npos);
}

TEST(Auto, OtherWordsAndEmptyValuesAreRefusedAndAutoIsOffered) {
  for (const char* text : {"batch: automatic\n", "batch: [8]\n", "warmup: yes\n", "colour: blue\n"}) {
    EXPECT_NE(refusal(text).find("auto"), std::string::npos) << text << refusal(text);
    EXPECT_NE(refusal(text).find("a.yaml:1"), std::string::npos) << text << refusal(text);
  }
  EXPECT_NE(refusal("batch:\n").find("has no value"), std::string::npos) << refusal("batch:\n");
}

TEST(Auto, IsPrintedAsAutoOrAsItsValueAndReadsBack) {
  Settings settings;
  EXPECT_EQ(print_config(settings, false), "batch: auto\nwarmup: 3\ncolour: auto\n");
  EXPECT_NE(print_config(settings).find("# images"), std::string::npos);
  settings.batch = 8;
  settings.warmup = {};
  settings.colour = Colour::red;
  EXPECT_EQ(print_config(settings, false), "batch: 8\nwarmup: auto\ncolour: red\n");
  EXPECT_EQ(print_config(read(print_config(settings)), false), print_config(settings, false));
}

}  // namespace
}  // namespace brightnet
