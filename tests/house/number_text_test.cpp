// A program that calls the library may have set a locale in which numbers have a decimal comma: numbers are read and written
// by core/text.h, std::from_chars and fmt, which do not ask it.
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "tests/paths.h"

namespace brightnet::testing {
namespace {

const std::regex& asks_the_locale() {
  static const std::regex pattern(
      R"(\b(strto(d|f|ld)|sto(d|f|ld)|atof|sscanf)\(|printf\(.*%[-+ 0-9.*]*[aefg])");
  return pattern;
}

TEST(NumberText, DoesNotAskTheLocale) {
  namespace fs = std::filesystem;
  int files = 0;
  for (const char* floor : {"core", "kernels", "layers", "data", "formats", "detect", "train", "tune",
                            "bench", "brightnet", "cli", "python"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / floor)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".h" && ending != ".cpp" && ending != ".cu") continue;
      ++files;
      std::ifstream text(entry.path());
      int number = 0;
      for (std::string line; std::getline(text, line);) {
        ++number;
        EXPECT_FALSE(std::regex_search(line, asks_the_locale()))
            << entry.path().string() << ':' << number << ": " << line;
      }
    }
  }
  EXPECT_GT(files, 300);
}

TEST(NumberText, CallsThatAskTheLocaleAreKnown) {
  for (const char* line : {"std::strtod(text, nullptr)", "std::stod(text)", "snprintf(text, 9, \"%.6g\", x)"})
    EXPECT_TRUE(std::regex_search(line, asks_the_locale())) << line;
  for (const char* line : {"std::stoi(text)", "snprintf(text, 9, \"%06d\", x)"})
    EXPECT_FALSE(std::regex_search(line, asks_the_locale())) << line;
}

}  // namespace
}  // namespace brightnet::testing
