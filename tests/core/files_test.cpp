#include "core/files.h"

#include <fstream>

#include <gtest/gtest.h>

#include "core/error.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("files_" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Files, WhatIsWrittenIsReadAgainToTheByte) {
  const auto folder = fresh_folder("bytes");
  std::string content = "line\r\n";
  content += '\0';
  content += "\xff tail";
  write_atomically(folder / "name with spaces é.bin", content);
  EXPECT_EQ(read_file(folder / "name with spaces é.bin"), content);
  write_atomically(folder / "name with spaces é.bin", "");
  EXPECT_EQ(read_file(folder / "name with spaces é.bin"), "");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(Files, TheOldContentStaysWhileTheNewIsBeingWritten) {
  const auto folder = fresh_folder("while");
  write_atomically(folder / "weights", "old");
  write_atomically(folder / "weights", [&](std::ostream& out) {
    out << "half";
    out.flush();
    EXPECT_EQ(read_file(folder / "weights"), "old");
    out << " and half";
  });
  EXPECT_EQ(read_file(folder / "weights"), "half and half");
}

TEST(Files, AWriterThatFailsLeavesTheOldContentAndNothingBeside) {
  const auto folder = fresh_folder("failing");
  write_atomically(folder / "weights", "old");
  const auto failing = [&] {
    write_atomically(folder / "weights", [](std::ostream& out) {
      out << "half";
      throw std::runtime_error("interrupted");
    });
  };
  EXPECT_THROW(failing(), std::runtime_error);
  EXPECT_EQ(read_file(folder / "weights"), "old");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(Files, AFullDiskIsAnInputErrorAndKeepsTheOldContent) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const auto folder = fresh_folder("full");
  write_atomically(folder / "weights", "old");
  // The temporary file leads to a device without space, as a full disk would.
  fs::create_symlink("/dev/full", folder / "weights.tmp");
  EXPECT_THROW(write_atomically(folder / "weights", std::string(1 << 20, 'x')), InputError);
  EXPECT_EQ(read_file(folder / "weights"), "old");
}

TEST(Files, AMissingFolderIsAnInputErrorThatNamesTheFile) {
  const auto file = fresh_folder("missing") / "no" / "such" / "folder.txt";
  try {
    write_atomically(file, "x");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find(file.string()), std::string::npos) << e.what();
  }
  EXPECT_THROW(read_file(file), InputError);
  EXPECT_THROW(read_file(::testing::TempDir()), InputError);
}

TEST(Files, ARelativeNameWithoutFolderWorks) {
  const auto folder = fresh_folder("relative");
  const auto before = fs::current_path();
  fs::current_path(folder);
  write_atomically("plain.txt", "here");
  fs::current_path(before);
  EXPECT_EQ(read_file(folder / "plain.txt"), "here");
}

}  // namespace
}  // namespace brightnet
