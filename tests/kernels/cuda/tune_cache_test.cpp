#include "kernels/cuda/tune_cache.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/files.h"

namespace brightnet::cuda {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(::testing::TempDir()) / ("TuneCache_" + std::string(test->name()));
  fs::remove_all(folder);
  return folder;
}

TEST(TuneCache, TheNextRunKnowsWhatThisOneMeasured) {
  const fs::path file = fresh_folder() / "below" / "engines.txt";
  {
    TuneCache cache(file);
    EXPECT_EQ(cache.find("forward 1"), "");
    cache.remember("forward 1", "eng3_k2=1");
    cache.remember("forward 2", "eng0");
    cache.remember("forward 2", "eng7");
    EXPECT_EQ(cache.find("forward 2"), "eng7");
  }
  const TuneCache next(file);
  EXPECT_EQ(next.find("forward 1"), "eng3_k2=1");
  EXPECT_EQ(next.find("forward 2"), "eng7");
  EXPECT_EQ(next.find("forward 3"), "");
}

// Of an engine that the file names and cuDNN no longer offers.
TEST(TuneCache, WhatIsMeasuredAgainReplacesWhatTheFileHas) {
  const fs::path file = fresh_folder() / "engines.txt";
  for (const char* engine : {"eng1", "eng2"}) {
    TuneCache cache(file);
    cache.remember("forward 1", engine);
    cache.save();
    EXPECT_EQ(TuneCache(file).find("forward 1"), engine);
  }
}

TEST(TuneCache, TwoProcessesKeepEachOthersEntries) {
  const fs::path file = fresh_folder() / "engines.txt";
  TuneCache first(file), second(file);
  first.remember("a", "1");
  second.remember("b", "2");
  first.save();
  second.save();
  const TuneCache next(file);
  EXPECT_EQ(next.find("a"), "1");
  EXPECT_EQ(next.find("b"), "2");
  // Nothing but the file itself is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()), 1);
}

// As the backends of two detectors do that begin at the same time.
TEST(TuneCache, TwoThreadsKeepEachOthersEntries) {
  const fs::path file = fresh_folder() / "engines.txt";
  constexpr int entries = 50;
  const auto write = [&](const std::string& name) {
    TuneCache cache(file);
    for (int i = 0; i < entries; ++i) {
      cache.remember(name + std::to_string(i), "engine");
      cache.save();
      EXPECT_FALSE(cache.file().empty()) << "it has given up";
    }
  };
  std::thread other([&] { write("b"); });
  write("a");
  other.join();
  const TuneCache next(file);
  for (const char* name : {"a", "b"}) {
    for (int i = 0; i < entries; ++i) EXPECT_EQ(next.find(name + std::to_string(i)), "engine") << name << i;
  }
}

// What it has read before another process's write would overwrite that: it reads after it.
TEST(TuneCache, WaitsForAnotherProcessThatIsWriting) {
  const fs::path file = fresh_folder() / "engines.txt";
  fs::create_directories(file.parent_path());
  const int other = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  TuneCache cache(file);
  cache.remember("a", "1");
  std::thread saving([&] { cache.save(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(fs::exists(file));
  ::close(other);
  saving.join();
  EXPECT_EQ(TuneCache(file).find("a"), "1");
}

TEST(TuneCache, ADamagedFileIsIgnoredAndReplaced) {
  const fs::path file = fresh_folder() / "engines.txt";
  fs::create_directories(file.parent_path());
  {
    TuneCache whole(file);
    whole.remember("convolution", "engine");
    whole.remember("other", "engine");
  }
  const std::string text = read_file(file);
  const std::string damaged[] = {text.substr(0, text.size() - 3),  // cut off in the last line
                                 "something else\n",
                                 "",
                                 "\n",
                                 std::string(100, '\0'),
                                 text + "no tab\n",
                                 text + "\tno key\n",
                                 text + "no engine\t\n",
                                 text + "a\tb\tc\n"};
  for (const auto& content : damaged) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    TuneCache cache(file);
    EXPECT_EQ(cache.find("convolution"), "") << content;
    cache.remember("new", "engine 2");
    cache.save();
    EXPECT_EQ(TuneCache(file).find("new"), "engine 2") << content;
  }
}

TEST(TuneCache, APlaceThatCannotBeWrittenIsNoError) {
  const fs::path folder = fresh_folder();
  fs::create_directories(folder);
  std::ofstream(folder / "file") << "not a folder";
  TuneCache cache(folder / "file" / "engines.txt");
  cache.remember("a", "1");
  cache.save();
  EXPECT_EQ(cache.find("a"), "1");
}

TEST(TuneCache, LiesInTheUsersCacheByGpuAndVersion) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(tune_cache_file("NVIDIA H200/141", "9.19.0"),
            fs::path("/somewhere/brightnet/convolutions-NVIDIA_H200_141-cudnn-9.19.0.txt"));
  ::unsetenv("XDG_CACHE_HOME");
  if (const char* home = std::getenv("HOME"); home && *home) {
    EXPECT_EQ(tune_cache_file("a", "9").parent_path(), fs::path(home) / ".cache" / "brightnet");
  }
  if (before) ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace brightnet::cuda
