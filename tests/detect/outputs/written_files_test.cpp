#include "detect/outputs/written_files.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// A folder that `brightnet eval` wrote into, beside what it must leave alone.
class WrittenFilesOf : public ::testing::Test {
 protected:
  WrittenFilesOf()
      : base_(fs::path(::testing::TempDir()) /
              (std::string("written_") + ::testing::UnitTest::GetInstance()->current_test_info()->name())),
        folder_(base_ / "out") {
    fs::remove_all(base_);
    fs::create_directories(folder_ / "sub");
    fs::create_directories(base_ / "mine");
    for (const auto& file : {folder_ / "old.png", folder_ / "sub/old.png", base_ / "mine/precious.png"})
      write_atomically(file, "picture");
    // A list whose hashes are right.
    WrittenFiles files(folder_, "--plots", "eval");
    files.note("old.png");
    list_ = folder_ / ".brightnet-eval";
    hash_ = read_file(list_).substr(0, 16);
    fs::remove(list_);
  }
  ~WrittenFilesOf() override { fs::remove_all(base_); }

  void list(const std::vector<std::string>& names) const {
    std::string text;
    for (const std::string& name : names) text += hash_ + ' ' + name + '\n';
    write_atomically(list_, text);
  }

  fs::path base_, folder_, list_;
  std::string hash_;
};

TEST_F(WrittenFilesOf, AFolderAreRemovedOnlyInIt) {
  fs::create_directory_symlink(base_ / "mine", folder_ / "linked");
  fs::create_directory_symlink(folder_ / "sub", folder_ / "within");
  fs::create_symlink(base_ / "mine/precious.png", folder_ / "link.png");
  for (const char* name : {"sub/other.png", "third.png"}) write_atomically(folder_ / name, "picture");
  list({"old.png", "sub/old.png", "within/other.png", "../mine/precious.png", "sub/../../mine/precious.png",
        "sub/../third.png", (base_ / "mine/precious.png").string(), "linked/precious.png", "link.png", "..",
        "linked", "."});
  const testing::Logged logged;
  WrittenFiles(folder_, "--plots", "eval").remove_the_rest();
  const std::string& said = logged.text();
  EXPECT_TRUE(fs::exists(base_ / "mine/precious.png"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.png"));
  EXPECT_TRUE(fs::exists(folder_ / "third.png")) << "no command writes such a name";
  EXPECT_FALSE(fs::exists(folder_ / "old.png"));
  EXPECT_FALSE(fs::exists(folder_ / "sub/old.png"));
  EXPECT_FALSE(fs::exists(folder_ / "sub/other.png")) << "by a link that stays inside";
  EXPECT_NE(said.find("the first: ../mine/precious.png"), std::string::npos) << said;
  EXPECT_EQ(said.find("do not lie"), said.rfind("do not lie")) << said;
}

TEST_F(WrittenFilesOf, AFolderDoNotIncludeWhatALinkOfAListedNameLeadsTo) {
  fs::create_symlink(base_ / "mine/precious.png", folder_ / "link.png");
  list({"link.png"});
  WrittenFiles files(folder_, "--plots", "eval");
  EXPECT_THROW(files.place("link.png"), InputError);
  write_atomically(list_, "- link.png\n");
  WrittenFiles unfinished(folder_, "--plots", "eval");
  EXPECT_THROW(unfinished.place("link.png"), InputError);
}

TEST_F(WrittenFilesOf, AFolderAreNotListedThroughALink) {
  write_atomically(base_ / "mine/notes.txt", "notes\n");
  fs::create_symlink(base_ / "mine/notes.txt", list_);
  try {
    WrittenFiles(folder_, "--plots", "eval").note("old.png");
    ADD_FAILURE() << "the link was followed";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("symbolic link"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(list_.string()), std::string::npos) << e.what();
  }
  EXPECT_EQ(read_file(base_ / "mine/notes.txt"), "notes\n");
}

TEST_F(WrittenFilesOf, AFolderAreNotListedThroughALinkThatComesWhileTheCommandRuns) {
  write_atomically(base_ / "mine/notes.txt", "notes\n");
  WrittenFiles files(folder_, "--plots", "eval");
  fs::create_symlink(base_ / "mine/notes.txt", list_);
  EXPECT_THROW(files.note("old.png"), InputError);
  EXPECT_EQ(read_file(base_ / "mine/notes.txt"), "notes\n");
}

TEST_F(WrittenFilesOf, AFolderThatIsItselfALinkAreFound) {
  fs::create_directory_symlink(folder_, base_ / "link");
  list({"old.png"});
  WrittenFiles(base_ / "link", "--plots", "eval").remove_the_rest();
  EXPECT_FALSE(fs::exists(folder_ / "old.png"));
}

TEST_F(WrittenFilesOf, AFolderAreKeptWhenTheyAreWrittenAgainOrWereChanged) {
  list({"old.png", "sub/old.png", "changed.png"});
  write_atomically(folder_ / "changed.png", "a user's own");
  WrittenFiles files(folder_, "--plots", "eval");
  files.write("old.png", [](const fs::path& file) { write_atomically(file, "another picture"); });
  files.remove_the_rest();
  EXPECT_EQ(read_file(folder_ / "old.png"), "another picture");
  EXPECT_EQ(read_file(folder_ / "changed.png"), "a user's own");
  EXPECT_FALSE(fs::exists(folder_ / "sub/old.png"));
  EXPECT_EQ(read_file(list_).find("sub/old.png"), std::string::npos) << "it is gone";
  EXPECT_NO_THROW(WrittenFiles(folder_, "--plots", "eval").place("old.png"));
}

TEST_F(WrittenFilesOf, AFolderAreRemovedOnlyAmongTheNamesAskedFor) {
  list({"old.png", "sub/old.png"});
  WrittenFiles files(folder_, "--plots", "eval"), others(folder_, "--plots", "eval");
  others.write("new.png", [](const fs::path& file) { write_atomically(file, "picture"); });
  files.remove_the_rest([](const fs::path& name) { return name.has_parent_path(); });
  EXPECT_TRUE(fs::exists(folder_ / "old.png"));
  EXPECT_FALSE(fs::exists(folder_ / "sub/old.png"));
  EXPECT_NO_THROW(WrittenFiles(folder_, "--plots", "eval").place("new.png")) << "the other's line stays";
}

TEST_F(WrittenFilesOf, AFolderMayHaveLineBreaksAndBackslashesInTheirNames) {
  for (const char* name : {"a\nb.txt", "a\\nb.txt", "a\\\nb.txt", "b\\"}) {
    const auto write = [&] {
      WrittenFiles(folder_, "--txt", "eval").write(name, [](const fs::path& file) {
        write_atomically(file, "labels");
      });
    };
    EXPECT_NO_THROW(write()) << name;
    EXPECT_NO_THROW(write()) << name << " is of the first run";
  }
}

// Two lines for each of a million files.
TEST_F(WrittenFilesOf, AFolderMayBeMoreThanFitIntoATextOf64MiB) {
  const std::string many = std::string(most_text_bytes, 'x') + '\n';
  list({"old.png", "sub/old.png"});
  append_to_file(list_, many);
  WrittenFiles files(folder_, "--plots", "eval");
  EXPECT_NO_THROW(files.place("old.png"));
  append_to_file(list_, many);  // by another object
  files.remove_the_rest([](const fs::path& name) { return name.has_parent_path(); });
  EXPECT_FALSE(fs::exists(folder_ / "sub/old.png"));
}

}  // namespace
}  // namespace brightnet
