#include "train/setup/known_runs.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "core/cache_folder.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// The working folder and the user's cache, put back at its end.
class ListedRuns : public ::testing::Test {
 protected:
  ListedRuns() { ::setenv("XDG_CACHE_HOME", (run_.folder() / "cache").c_str(), 1); }
  ~ListedRuns() override {
    fs::current_path(before_);
    before_cache_ ? ::setenv("XDG_CACHE_HOME", kept_.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
  }
  void work_in(const std::string& folder) {
    fs::create_directories(run_.folder() / folder);
    fs::current_path(run_.folder() / folder);
  }

 private:
  SmallRun run_;
  fs::path before_ = fs::current_path();
  const char* before_cache_ = std::getenv("XDG_CACHE_HOME");
  std::string kept_ = before_cache_ ? before_cache_ : "";
};

TEST_F(ListedRuns, AreThoseThatWereBegunInThisFolder) {
  work_in("one");
  const RunFolder folder = RunFolder::create("far/away");
  for (const fs::path& file : {folder.config(), folder.model()}) write_atomically(file, "name: x\n");
  list_run("runs/x", folder);
  ASSERT_EQ(listed_runs("runs/x").size(), 1u);
  EXPECT_EQ(listed_runs("runs/x")[0].path(), fs::canonical("far/away"));
  EXPECT_TRUE(listed_runs("runs/y").empty());
  work_in("another");  // neither has a folder `runs`
  EXPECT_TRUE(listed_runs("runs/x").empty());
}

TEST_F(ListedRuns, AreTheNewestOfMany) {
  work_in("one");
  const auto list = [](const std::string& name) {
    const RunFolder folder = RunFolder::create(name);
    for (const fs::path& file : {folder.config(), folder.model()}) write_atomically(file, "name: x\n");
    list_run("runs/x", folder);
  };
  list("far/oldest");
  const fs::path file = cache_folder() / "runs.txt";
  std::string text = read_file(file);
  for (int i = 1; i < 200; ++i) text += "/elsewhere/runs/y\t" + fs::current_path().string() + '\n';
  write_atomically(file, text);
  ASSERT_EQ(listed_runs("runs/x").size(), 1u);
  list("far/newest");
  ASSERT_EQ(listed_runs("runs/x").size(), 1u);
  EXPECT_EQ(listed_runs("runs/x")[0].path(), fs::canonical("far/newest"));
  EXPECT_EQ(read_lines(file).size(), 200u);
}

// Two trainings that begin together: one of them was not found by --resume.
TEST_F(ListedRuns, AreAddedToTheListOneAfterAnother) {
  work_in("one");
  const auto begin = [](const std::string& name) {
    const RunFolder folder = RunFolder::create(name);
    for (const fs::path& file : {folder.config(), folder.model()}) write_atomically(file, "name: x\n");
    return folder;
  };
  const RunFolder first = begin("far/first"), second = begin("far/second");
  list_run("runs/x", first);
  const fs::path file = cache_folder() / "runs.txt";
  const std::string text = read_file(file);
  fs::remove(file);
  {
    std::optional<Descriptor> turn = lock_folder(cache_folder());
    const std::jthread other([&] { list_run("runs/x", second); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    write_atomically(file, text);
    turn.reset();
  }
  EXPECT_EQ(listed_runs("runs/x").size(), 2u);
}

TEST_F(ListedRuns, WithoutAStateMakeRoomForThoseWithOne) {
  work_in("one");
  const auto list = [](const std::string& name, bool saved) {
    const RunFolder folder = RunFolder::create(name);
    for (const fs::path& file : {folder.config(), folder.model()}) write_atomically(file, "name: x\n");
    if (saved) write_atomically(folder.state(), std::string("state"));
    list_run("runs/x", folder);
    return fs::canonical(folder.path()).string();
  };
  const std::string oldest = list("far/oldest", true), trial = list("far/trial", false);
  const fs::path file = cache_folder() / "runs.txt";
  std::string text = read_file(file);
  for (int i = 2; i < 200; ++i) text += "/elsewhere/runs/y\t" + oldest + '\n';
  write_atomically(file, text);
  list("far/newest", true);
  text = read_file(file);
  EXPECT_EQ(read_lines(file).size(), 200u);
  EXPECT_NE(text.find("runs/x\t" + oldest), std::string::npos) << text;
  EXPECT_EQ(text.find(trial), std::string::npos) << text;
}

TEST_F(ListedRuns, AreNotTheTrialsOfASearch) {
  work_in("one");
  ::setenv(unlisted_variable, "1", 1);
  const RunFolder folder = RunFolder::create("search/trials/0000");
  for (const fs::path& file : {folder.config(), folder.model()}) write_atomically(file, "name: x\n");
  list_run("runs/x", folder);
  ::unsetenv(unlisted_variable);
  EXPECT_TRUE(listed_runs("runs/x").empty());
  EXPECT_FALSE(fs::exists(cache_folder() / "runs.txt"));
}

}  // namespace
}  // namespace brightnet::testing
