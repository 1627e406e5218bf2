#include "core/written_list.h"

#include <gtest/gtest.h>

#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

// Pictures that a command wrote are none of a data set.
TEST(WrittenList, OfEveryCommandIsLookedInto) {
  const fs::path folder = fs::path(::testing::TempDir()) / "written_list";
  for (const char* command : {"detect", "eval", "data show", "compare"}) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    const auto is_picture = [](const fs::path& name) { return name.extension() == ".png"; };
    EXPECT_FALSE(any_written(folder, is_picture)) << command;
    write_atomically(written_list(folder, command), written_line({"0123456789abcdef", "a.txt"}));
    EXPECT_FALSE(any_written(folder, is_picture)) << command;
    append_to_file(written_list(folder, command), written_line({"0123456789abcdef", "b\\\n c.png"}));
    EXPECT_TRUE(any_written(folder, is_picture)) << command;
    EXPECT_TRUE(any_written(folder, [](const fs::path& name) { return name == "b\\\n c.png"; })) << command;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace brightnet
