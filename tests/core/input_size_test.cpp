#include "core/input_size.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/config.h"
#include "core/json.h"

namespace brightnet {
namespace {

struct Section {
  InputSize size = 416;
  Auto<InputSize> chosen = 416;
  std::vector<InputSize> sizes;
  void fields(Fields& f) {
    input_size_field(f, "size", size, {.low = 32, .high = 8192}, "");
    input_size_field(f, "chosen", chosen, {.low = 32, .high = 8192}, "");
    input_size_field(f, "sizes", sizes, {.low = 32, .high = 8192}, "");
  }
};

Section read_section(const std::string& text) {
  Section section;
  read_config(YamlDocument::parse(text, "x.yaml").root(), section);
  return section;
}

std::string size_refusal(const std::string& text) {
  try {
    read_section(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(InputSize, TheHeightComesFirst) {
  for (const char* text : {"size: 384x1248", "size: [384, 1248]"}) {
    EXPECT_EQ(read_section(text).size.height, 384) << text;
    EXPECT_EQ(read_section(text).size.width, 1248) << text;
  }
  EXPECT_EQ(parse_input_size("384x1248"), InputSize(384, 1248));
  EXPECT_EQ(InputSize(384, 1248).text(), "384x1248");
  EXPECT_EQ(InputSize(384, 1248).described(), "384x1248 (height x width)");
}

TEST(InputSize, ASquareIsOneNumberAsItWasBefore) {
  EXPECT_EQ(read_section("size: 608").size, InputSize(608));
  EXPECT_EQ(read_section("size: [608, 608]").size, InputSize(608));
  EXPECT_EQ(InputSize(608).text(), "608");
  Section square;
  square.sizes = {320, 416};
  EXPECT_EQ(print_config(square, false), "size: 416\nchosen: 416\nsizes: [320, 416]\n");
  EXPECT_EQ(Json(InputSize(416)).dump(), "416");
  EXPECT_EQ(Json(InputSize(384, 1248)).dump(), "[384,1248]");
  for (const InputSize& size : {InputSize(416), InputSize(384, 1248)})
    EXPECT_EQ(Json(size).get<InputSize>(), size);
}

TEST(InputSize, PrintsWhatItReads) {
  Section section;
  section.size = {384, 1248};
  section.chosen = {};
  section.sizes = {{320, 1024}, {384, 1248}};
  const std::string text = print_config(section, false);
  EXPECT_EQ(text, "size: [384, 1248]\nchosen: auto\nsizes: [[320, 1024], [384, 1248]]\n");
  const Section again = read_section(text);
  EXPECT_EQ(again.size, section.size);
  EXPECT_FALSE(again.chosen.has_value());
  EXPECT_EQ(again.sizes, section.sizes);
}

TEST(InputSize, RefusesWhatIsNoSizeWithItsPlace) {
  for (const char* bad : {"-32", "3.5", "x416", "416x", "416x-2", "416x416x3", "wide", "[416]",
                          "[416, 416, 3]", "[a, b]", "{h: 1}", "auto", "416 x 736", "99999999999"}) {
    const std::string said = size_refusal("# a comment\nsize: " + std::string(bad));
    EXPECT_NE(said.find("x.yaml:2"), std::string::npos) << bad << ": " << said;
    EXPECT_NE(said.find("height"), std::string::npos) << bad << ": " << said;
  }
  for (const char* outside : {"0", "16", "9000", "416x16", "[9000, 416]"})
    EXPECT_NE(size_refusal("size: " + std::string(outside)).find("from 32 to 8192"), std::string::npos)
        << outside;
  for (const char* inside : {"32", "8192", "32x8192"})
    EXPECT_EQ(size_refusal("size: " + std::string(inside)), "") << inside;
  EXPECT_NE(size_refusal("sizes: 416").find("must be a list"), std::string::npos);
  EXPECT_NE(size_refusal("sizes: [416, 20]").find("from 32"), std::string::npos);
}

TEST(InputSize, TheLargestHasTheMostPixels) {
  const std::vector<InputSize> sizes{{384, 1248}, 416, {1248, 384}, 608, 704};
  EXPECT_EQ(*std::max_element(sizes.begin(), sizes.end()), InputSize(704));
  EXPECT_LT(InputSize(608), InputSize(384, 1248));
  EXPECT_LT(InputSize(384, 1248), InputSize(1248, 384)) << "an order for sets, where the pixels are equal";
}

TEST(InputSize, KeepsTheRatioInMultiplesOfTheStride) {
  EXPECT_EQ(with_height({384, 1248}, 192, 32), InputSize(192, 640))
      << "624 is halfway, and half a stride is rounded up";
  EXPECT_EQ(with_height({384, 1248}, 320, 32), InputSize(320, 1056)) << "of 1040";
  EXPECT_EQ(with_height({1248, 384}, 624, 64), InputSize(640, 192));
  EXPECT_EQ(with_height({32, 8192}, 32, 32), InputSize(32, 8192));
}

TEST(InputSize, NamesTheNearestThatAStrideTakes) {
  EXPECT_EQ(nearest_input_sizes(100, 32), "96 and 128");
  EXPECT_EQ(nearest_input_sizes(20, 32), "32");
  EXPECT_EQ(nearest_input_sizes({400, 1248}, 32), "384x1248 and 416x1248");
  EXPECT_EQ(nearest_input_sizes({20, 100}, 32), "32x128");
  EXPECT_EQ(nearest_input_sizes(-100, 16), "16") << "of a broken file";
  EXPECT_EQ(nearest_input_sizes(100, 1 << 30), "1073741824");
}

}  // namespace
}  // namespace brightnet
