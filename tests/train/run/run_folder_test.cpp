#include "train/run/run_folder.h"

#include <chrono>
#include <fstream>

#include <gtest/gtest.h>

#include "core/error.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class Runs : public ::testing::Test {
 protected:
  Runs()  // a folder of each test's own: ctest runs them side by side
      : base_(
            fs::path(::testing::TempDir()) /
            (std::string("run_folder_") + ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(base_);
  }
  ~Runs() override { fs::remove_all(base_); }

  static void make_resumable(const RunFolder& run) {
    for (const auto& file : {run.config(), run.model(), run.state()}) std::ofstream(file) << "x";
  }
  fs::path base_;
};

TEST_F(Runs, AreNumberedAndNeverOverwritten) {
  const RunFolder first = RunFolder::create(base_ / "runs/cells");
  std::ofstream(first.log()) << "kept";
  EXPECT_EQ(first.path(), base_ / "runs/cells");
  EXPECT_EQ(RunFolder::create(base_ / "runs/cells").path(), base_ / "runs/cells-2");
  EXPECT_EQ(RunFolder::create(base_ / "runs/cells/").path(), base_ / "runs/cells-3");
  EXPECT_TRUE(fs::exists(first.log()));
  EXPECT_TRUE(fs::is_directory(first.last().parent_path()));
  EXPECT_TRUE(fs::is_directory(first.state().parent_path()));
}

TEST_F(Runs, StepAsideForAFileOfTheirName) {
  fs::create_directories(base_);
  std::ofstream(base_ / "cells") << "not a folder";
  EXPECT_EQ(RunFolder::create(base_ / "cells").path(), base_ / "cells-2");
}

TEST_F(Runs, CannotBeMadeInsideAFile) {
  fs::create_directories(base_);
  std::ofstream(base_ / "file") << "x";
  EXPECT_THROW(RunFolder::create(base_ / "file" / "run"), InputError);
}

// Nor is what cannot be looked at said to be none.
TEST_F(Runs, ThatCannotBeReadAreRefused) {
  fs::create_directories(base_);
  fs::create_symlink("loop", base_ / "loop");
  for (const fs::path& path : {base_ / "loop", base_ / std::string(300, 'a')}) {
    try {
      RunFolder::open(path);
      ADD_FAILURE() << path;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("cannot be read"), std::string::npos) << error.what();
    }
  }
}

TEST_F(Runs, UseAnEmptyFolderThatIsThere) {
  fs::create_directories(base_ / "cells");
  EXPECT_EQ(RunFolder::create(base_ / "cells").path(), base_ / "cells");
  EXPECT_EQ(RunFolder::create(base_ / "cells").path(), base_ / "cells-2");
}

TEST_F(Runs, ThatWereNotBegunLeaveNothingBehind) {
  const RunFolder run = RunFolder::create(base_ / "cells");
  // The disk was full before the description was whole.
  for (const fs::path& file : {run.log(), run.state().parent_path() / "lock", run.start(), run.model()})
    std::ofstream(file) << "x";
  run.remove_unused();
  EXPECT_FALSE(fs::exists(run.path()));
  const RunFolder kept = RunFolder::create(base_ / "cells");
  std::ofstream(kept.file("notes.txt")) << "of the user";
  kept.remove_unused();
  EXPECT_TRUE(fs::exists(kept.file("notes.txt")));
}

// Whatever has become of its config.yaml meanwhile.
TEST_F(Runs, ThatHaveTrainedLoseNothing) {
  const RunFolder run = RunFolder::create(base_ / "cells");
  make_resumable(run);
  for (const fs::path& file : {run.log(), run.model()}) std::ofstream(file) << "x";
  fs::remove(run.config());
  for (const RunFolder& known : {run, RunFolder::at(run.path())}) {
    known.remove_unused();
    EXPECT_TRUE(fs::exists(run.log()) && fs::exists(run.model()));
  }
  fs::remove(run.state());
  RunFolder::at(run.path()).remove_unused();
  EXPECT_TRUE(fs::exists(run.log())) << "another process has begun it";
}

TEST_F(Runs, NameTheWeightsThatANewOneCanBeginWith) {
  const RunFolder folder = RunFolder::create(base_ / "quantized");
  const auto write = [](const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  write(folder.last(), "of 8 bits");
  write(folder.config(), "train: {quantize: false}\n");
  EXPECT_EQ(folder.new_run(), "start a new run with --weights " + folder.last().string());
  write(folder.config(), "train: {quantize: true}\n");
  EXPECT_EQ(folder.new_run(), "start a new run") << "it is not known from which";
  const fs::path began = base_ / "trained.weights", cfg = base_ / "trained.cfg";
  write(folder.start(), "train.weights='" + began.string() + "'\ntrain.weights_cfg='" + cfg.string() + "'\n");
  EXPECT_EQ(folder.new_run(), "start a new run") << "they are gone";
  write(began, "");
  write(cfg, "");
  EXPECT_EQ(folder.new_run(),
            "start a new run with --weights " + began.string() + " --weights-cfg " + cfg.string());
  write(folder.config(), "train: [\n");
  EXPECT_EQ(folder.new_run(), "start a new run with --weights " + folder.last().string());
}

TEST_F(Runs, AreResumedFromTheOneThatWasSavedLast) {
  const auto latest = [&] { return RunFolder::latest(RunFolder::numbered(base_ / "cells")); };
  const RunFolder first = RunFolder::create(base_ / "cells"), second = RunFolder::create(base_ / "cells"),
                  third = RunFolder::create(base_ / "cells");
  EXPECT_FALSE(latest());
  make_resumable(first);
  EXPECT_EQ(latest()->path(), first.path());
  make_resumable(second);
  EXPECT_EQ(latest()->path(), second.path());
  EXPECT_THROW(RunFolder::open(third.path()), InputError);
  EXPECT_EQ(RunFolder::open(base_ / "cells/").path(), first.path());
  EXPECT_TRUE(first.saved());
  // One that was begun later, and has not saved yet.
  make_resumable(third);
  fs::remove(third.state());
  EXPECT_EQ(latest()->path(), third.path());
  EXPECT_FALSE(third.saved() || third.lost_state());
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(third.config(), now - std::chrono::hours(1));
  EXPECT_EQ(latest()->path(), second.path());
}

TEST_F(Runs, AreResumedFromTheNewestWhateverItsNumberIs) {
  const auto latest = [&] { return RunFolder::latest(RunFolder::numbered(base_ / "cells")); };
  RunFolder::create(base_ / "cells");
  const RunFolder second = RunFolder::create(base_ / "cells");
  make_resumable(second);
  fs::last_write_time(second.state(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  fs::remove_all(base_ / "cells");
  for (const char* other : {"cells-02", "cells-3x", "cells-", "cellsb-4"})
    make_resumable(RunFolder::create(base_ / other));
  EXPECT_EQ(latest()->path(), second.path());
  const RunFolder again = RunFolder::create(base_ / "cells");
  make_resumable(again);
  EXPECT_EQ(again.path(), base_ / "cells");
  EXPECT_EQ(latest()->path(), again.path());
}

TEST_F(Runs, BelowAFolderAreSortedByWhenTheyWereSaved) {
  const auto now = fs::file_time_type::clock::now();
  const std::pair<const char*, int> hours[] = {{"two", 2}, {"none", 0}, {"three", 3}, {"one", 1}};
  for (const auto& [name, age] : hours) {
    const RunFolder run = RunFolder::create(base_ / name);
    make_resumable(run);
    fs::last_write_time(run.state(), now - std::chrono::hours(age));
  }
  RunFolder::create(base_ / "not_begun");
  std::vector<std::string> names;
  for (const RunFolder& run : RunFolder::below(base_)) names.push_back(run.path().filename());
  EXPECT_EQ(names, (std::vector<std::string>{"none", "one", "two", "three"}));
}

}  // namespace
}  // namespace brightnet
