#include "train/run/run_lock.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class RunLocks : public ::testing::Test {
 protected:
  RunLocks()
      : base_(fs::path(::testing::TempDir()) /
              (std::string("run_lock_") + ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(base_);
    folder_.emplace(RunFolder::create(base_ / "run"));
  }
  ~RunLocks() override { fs::remove_all(base_); }

  /// What RunLock says when it refuses; "" when it does not.
  std::string refusal() const {
    try {
      const RunLock lock(*folder_);
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  }

  fs::path base_;
  std::optional<RunFolder> folder_;
};

TEST_F(RunLocks, HoldOffASecondProcessAndNameTheFirst) {
  {
    const RunLock lock(*folder_);
    const std::string words = refusal();
    EXPECT_NE(words.find("process " + std::to_string(::getpid())), std::string::npos) << words;
    EXPECT_NE(words.find(folder_->path().string()), std::string::npos) << words;
  }
  EXPECT_EQ(refusal(), "") << "it is free again";
}

TEST_F(RunLocks, CanBeWaitedForUntilTheirRunEnds) {
  using std::chrono::milliseconds;
  EXPECT_TRUE(wait_for_end_of_run(*folder_, milliseconds(0), {})) << "a run that never began";
  std::optional<RunLock> lock(std::in_place, *folder_);
  EXPECT_FALSE(wait_for_end_of_run(*folder_, milliseconds(50), {}));
  std::jthread ends([&] {
    std::this_thread::sleep_for(milliseconds(100));
    lock.reset();
  });
  EXPECT_TRUE(wait_for_end_of_run(*folder_, milliseconds(60'000), {}));
  ends.join();
  lock.emplace(*folder_);
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_FALSE(wait_for_end_of_run(*folder_, milliseconds(60'000), stopped.get_token()))
      << "when asked to stop";
}

TEST_F(RunLocks, DoNotSurviveAProcessThatIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunLock lock(*folder_);
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;) ::pause();
  }
  char word = 0;
  ASSERT_EQ(::read(ready[0], &word, 1), 1);
  EXPECT_NE(refusal().find("process " + std::to_string(child)), std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(refusal(), "");
}

TEST_F(RunLocks, NoticeThatTheFolderWasDeletedAndMadeAgain) {
  const auto words_of = [](const RunLock& lock) -> std::string {
    try {
      lock.check();
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  };
  const RunLock lock(*folder_);
  EXPECT_EQ(words_of(lock), "");
  fs::rename(folder_->path(), base_ / "away");
  EXPECT_EQ(words_of(lock), "") << "a disk that is gone may come back";
  const RunFolder other = RunFolder::create(base_ / "run");
  EXPECT_NE(words_of(lock).find("deleted or moved and made again"), std::string::npos)
      << "before it is locked";
  {
    const RunLock of_other(other);
    EXPECT_NE(words_of(lock), "");
    EXPECT_EQ(words_of(of_other), "");
  }
  fs::remove_all(other.path());
  fs::rename(base_ / "away", folder_->path());
  EXPECT_EQ(words_of(lock), "");
  fs::remove(folder_->state().parent_path() / "lock");
  EXPECT_EQ(words_of(lock), "") << "the folder is the same";
  const RunLock second(*folder_);
  EXPECT_NE(words_of(lock), "") << "another process has it";
}

TEST_F(RunLocks, SayThatAFolderCannotBeWritten) {
  // Also true for root, whom permissions do not stop: a folder lies where the file belongs.
  fs::create_directory(folder_->state().parent_path() / "lock");
  EXPECT_NE(refusal().find("cannot be written"), std::string::npos) << refusal();
}

TEST_F(RunLocks, DoNotWriteWhereALinkInTheRunsFolderLeads) {
  const fs::path lock = folder_->state().parent_path() / "lock", mine = base_ / "mine.txt";
  write_atomically(mine, "mine");
  fs::create_symlink(mine, lock);
  std::string words = refusal();
  EXPECT_NE(words.find("symbolic link"), std::string::npos) << words;
  EXPECT_NE(words.find(lock.string()), std::string::npos) << words;
  EXPECT_EQ(read_file(mine), "mine");
  fs::remove(lock);
  for (const fs::path& place : {folder_->state().parent_path(), folder_->last().parent_path()}) {
    fs::rename(place, base_ / "elsewhere");
    fs::create_directory_symlink(base_ / "elsewhere", place);
    words = refusal();
    EXPECT_NE(words.find(place.string() + ": this folder of a run is a symbolic link"), std::string::npos)
        << words;
    EXPECT_TRUE(fs::is_empty(base_ / "elsewhere"));
    fs::remove(place);
    fs::rename(base_ / "elsewhere", place);
  }
  fs::create_directory_symlink(folder_->path(), base_ / "link");
  const RunLock of_link(RunFolder::at(base_ / "link"));
  EXPECT_TRUE(fs::exists(lock)) << "the run's folder itself may be a link";
}

TEST_F(RunLocks, ClearWhatAKilledProcessLeftHalfWritten) {
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile weights(folder_->last()), state(folder_->state()), page(folder_->file("report.html"));
    for (AtomicFile* half : {&weights, &state, &page}) half->stream() << "half" << std::flush;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  std::ofstream(folder_->path() / "notes.tmp") << "somebody's own";
  const auto left_in = [](const fs::path& place) {
    return std::count_if(fs::directory_iterator(place), fs::directory_iterator(),
                         [](const auto& entry) { return AtomicFile::is_temporary(entry.path()); });
  };
  const fs::path places[] = {folder_->path(), folder_->last().parent_path(), folder_->state().parent_path()};
  for (const fs::path& place : places) EXPECT_EQ(left_in(place), 1) << place;
  const RunLock lock(*folder_);
  for (const fs::path& place : places) EXPECT_EQ(left_in(place), 0) << place;
  EXPECT_TRUE(fs::exists(folder_->path() / "notes.tmp"));
}

}  // namespace
}  // namespace brightnet
