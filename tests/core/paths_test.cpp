// Paths in core/files.h: which file a name means, and what lies where.
#include <gtest/gtest.h>

#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_paths(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("paths_" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

TEST(Paths, APathIsLookedForInTheFolderAndHereInTheOrderAskedFor) {
  const auto folder = folder_of_paths("find");
  const auto other = folder / "other";
  fs::create_directories(other);
  for (const auto& file : {folder / "both", other / "both", other / "there"}) write_atomically(file, "");
  const auto before = fs::current_path();
  fs::current_path(folder);
  const auto folder_first = find_path("both", other, false), here_first = find_path("both", other, true);
  const auto only_there = find_path("there", other, true), absolute = find_path(other / "both", "x", false);
  const auto nowhere = find_path("nowhere", other, false);
  fs::current_path(before);
  EXPECT_EQ(folder_first, (other / "both").lexically_normal());
  EXPECT_EQ(here_first, (folder / "both").lexically_normal());
  EXPECT_EQ(only_there, (other / "there").lexically_normal());
  EXPECT_EQ(absolute, (other / "both").lexically_normal());
  EXPECT_EQ(nowhere, "");
}

TEST(Paths, AListsPathIsFoundBelowTheFirstFolderThatHasItWithEitherSlash) {
  const auto folder = folder_of_paths("below");
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b/c");
  write_atomically(folder / "b/c/x.jpg", "");
  const std::vector<fs::path> folders{folder / "a", folder / "b"};
  EXPECT_EQ(find_below("c/x.jpg", folders), (folder / "b/c/x.jpg").lexically_normal());
  EXPECT_EQ(find_below("c\\x.jpg", folders), (folder / "b/c/x.jpg").lexically_normal());
  EXPECT_EQ(find_below("gone.jpg", folders), (folder / "a/gone.jpg").lexically_normal());
}

TEST(Paths, APathLosesTheSlashAtItsEnd) {
  const std::pair<const char*, const char*> paths[] = {{"a", "a"},      {"a/", "a"},   {"./a//", "a"},
                                                       {"a/b/..", "a"}, {"/", "/"},    {".", "."},
                                                       {"./", "."},     {"../", ".."}, {"", ""}};
  for (const auto& [path, without] : paths) EXPECT_EQ(without_slash(path), without) << path;
}

TEST(Paths, AFolderThatIsNotThereHoldsWhatWillLieInIt) {
  const auto folder = folder_of_paths("lies_in");
  for (const char* name : {"out", "out/"}) {
    EXPECT_TRUE(lies_in(folder / "out" / "a.jpg", folder / name)) << name;
    EXPECT_TRUE(lies_in(folder / "out", folder / name)) << name;
    EXPECT_FALSE(lies_in(folder / "output", folder / name)) << name;
  }
}

TEST(Paths, ARealPathIsThatBehindLinks) {
  const auto folder = folder_of_paths("real");
  write_atomically(folder / "mine", "");
  fs::create_symlink("mine", folder / "link");
  EXPECT_EQ(real_path(folder / "link"), fs::canonical(folder) / "mine");
  EXPECT_EQ(real_path(folder / "gone"), folder / "gone");
  EXPECT_EQ(find_below((folder / "mine").string(), {folder / "other"}), (folder / "mine").lexically_normal())
      << "absolute";
  EXPECT_EQ(find_below("mine", {}), "mine");
}

}  // namespace
}  // namespace brightnet
