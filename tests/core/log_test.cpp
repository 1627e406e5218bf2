#include "core/log.h"

#include <gtest/gtest.h>

#include "core/files.h"

namespace brightnet {
namespace {

TEST(Log, HoldsWhatWasSaidBeforeItsFileWasKnown) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "kept.log";
  std::filesystem::remove(file);
  spdlog::set_level(spdlog::level::info);
  spdlog::info("said before anybody listened");
  keep_messages();
  spdlog::info("the first");
  spdlog::warn("the second");
  log_to_file(file);
  spdlog::info("the third");
  const std::string text = read_file(file);
  const size_t first = text.find(" info the first\n"), second = text.find(" warning the second\n"),
               third = text.find(" info the third\n");
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, third) << text;
  EXPECT_NE(third, std::string::npos) << text;
  EXPECT_EQ(text.find("anybody"), std::string::npos) << text;
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace brightnet
