#include "core/files.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/environment.h"

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

TEST(Files, AScratchFolderIsThereForItsScope) {
  testing::Environment environment;
  fs::path file;
  {
    const ScratchFolder folder;
    file = folder / "file";
    write_atomically(file, "");
    EXPECT_TRUE(fs::exists(file));
  }
  EXPECT_FALSE(fs::exists(file.parent_path()));
  environment.set("TMPDIR", "/nowhere");
  EXPECT_THROW(ScratchFolder(), InputError);
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
  const auto folder = fresh_folder("full");
  write_atomically(folder / "weights", "old");
  // What a limit on file sizes (ulimit -f) refuses fails as on a full disk, once its signal is ignored.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{1 << 16, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &low);
  std::string words;
  try {
    write_atomically(folder / "weights", std::string(1 << 20, 'x'));
  } catch (const InputError& e) {
    words = e.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(words.find("File too large"), std::string::npos) << words;
  EXPECT_EQ(read_file(folder / "weights"), "old");
  EXPECT_EQ(entries(folder), 1u);
}

/// In the place of a disk that accepts what is written and refuses it when the file is closed.
struct RefusedAtClose {
  RefusedAtClose() {
    close_written = [](int descriptor) {
      const off_t size = ::lseek(descriptor, 0, SEEK_END);
      static_cast<void>(!::ftruncate(descriptor, size / 2));
      ::close(descriptor);
      errno = EDQUOT;
      return -1;
    };
  }
  ~RefusedAtClose() { close_written = ::close; }
};

TEST(Files, WhatIsLostWhenAFileIsClosedKeepsTheOldContent) {
  const auto folder = fresh_folder("closed");
  write_atomically(folder / "weights", "old");
  append_to_file(folder / "log", "one\n");
  {
    const RefusedAtClose disk;
    for (const auto& write :
         {std::function<void()>([&] { write_atomically(folder / "weights", "new content"); }),
          std::function<void()>([&] { append_to_file(folder / "log", "a second line\n"); })}) {
      try {
        write();
        ADD_FAILURE() << "nobody noticed";
      } catch (const InputError& e) {
        EXPECT_NE(std::string(e.what()).find("Disk quota exceeded"), std::string::npos) << e.what();
      }
    }
  }
  EXPECT_EQ(read_file(folder / "weights"), "old");
  EXPECT_EQ(read_file(folder / "log"), "one\n") << "no half line";
  EXPECT_EQ(entries(folder), 2u) << "no temporary file";
}

TEST(Files, ADescriptorThatCannotBeFlushedKeepsTheOldContent) {
  const auto folder = fresh_folder("flushed");
  write_atomically(folder / "weights", "old");
  const auto write = [&] {
    write_atomically(folder / "weights", [&](std::ostream& out) {
      out << "new" << std::flush;
      // All is written, and only flushing the descriptor that wrote it can tell that it is lost: what stands in its
      // place from here on can be closed, not flushed.
      const int unflushable = ::open("/", O_PATH);
      for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (AtomicFile::is_temporary(fs::read_symlink(entry.path(), gone)))
          ::dup2(unflushable, std::stoi(entry.path().filename().string()));
      }
      ::close(unflushable);
    });
  };
  EXPECT_THROW(write(), InputError);
  EXPECT_EQ(read_file(folder / "weights"), "old");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(Files, PiecesOfAnySizeComeInTheirOrder) {
  const auto folder = fresh_folder("pieces");
  std::string whole;
  write_atomically(folder / "weights", [&](std::ostream& out) {
    for (const size_t size : {1, 70000, 65535, 2, 65536, 0, 200000, 3}) {
      const std::string piece(size, static_cast<char>('a' + size % 26));
      out << piece;
      out.put('|');
      whole += piece + '|';
    }
    for (int i = 0; i < 70000; ++i)
      out.put(static_cast<char>('0' + i % 10)), whole += static_cast<char>('0' + i % 10);
  });
  EXPECT_EQ(read_file(folder / "weights"), whole);
}

TEST(Files, AnAppendDoesNotFollowALink) {
  const auto folder = fresh_folder("link");
  write_atomically(folder / "mine", "mine\n");
  fs::create_symlink(folder / "mine", folder / "log");
  try {
    append_to_file(folder / "log", "a line\n");
    ADD_FAILURE() << "it was followed";
  } catch (const InputError& e) {
    for (const std::string& part : {(folder / "log").string(), (folder / "mine").string()})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_EQ(read_file(folder / "mine"), "mine\n");
  write_atomically(folder / "log", "its own\n");
  EXPECT_FALSE(fs::is_symlink(folder / "log")) << "the link is replaced, not followed";
  EXPECT_EQ(read_file(folder / "mine"), "mine\n");
}

// Of a folder from somebody else: a run whose train.log was a pipe waited forever for its reader.
TEST(Files, AnAppendToAPipeOrADeviceIsRefusedAtOnce) {
  const auto folder = fresh_folder("append_pipe");
  const fs::path pipe = folder / "log";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = [](const fs::path& file) {
    try {
      append_to_file(file, "a line\n");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  ::alarm(30);  // instead of waiting
  EXPECT_NE(refused(pipe).find("pipe or a device"), std::string::npos) << refused(pipe);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_NE(refused(pipe).find(pipe.string() + ": this is a pipe or a device"), std::string::npos)
      << refused(pipe);
  ::close(reader);
  EXPECT_NE(refused("/dev/null").find("pipe or a device"), std::string::npos);
  ::alarm(0);
}

TEST(Files, AnAppendIsWholeOrNothing) {
  const auto folder = fresh_folder("append");
  append_to_file(folder / "log", "one\n");
  append_to_file(folder / "log", "two\n");
  EXPECT_EQ(read_file(folder / "log"), "one\ntwo\n");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{1 << 16, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &low);
  // The first 64 KiB of it fit.
  EXPECT_THROW(append_to_file(folder / "log", std::string(1 << 17, 'x')), InputError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(folder / "log"), "one\ntwo\n");
}

TEST(Files, TwoWritersOfOneFileDoNotMeet) {
  const auto folder = fresh_folder("two");
  AtomicFile one(folder / "weights"), other(folder / "weights");
  one.stream() << "one";
  other.stream() << "other";
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_TRUE(AtomicFile::is_temporary(entry.path())) << entry.path();
  }
  EXPECT_EQ(entries(folder), 2u);
  one.commit();
  EXPECT_EQ(read_file(folder / "weights"), "one");
  other.commit();
  EXPECT_EQ(read_file(folder / "weights"), "other");
  EXPECT_EQ(entries(folder), 1u);
  EXPECT_FALSE(AtomicFile::is_temporary("mine.tmp"));
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

TEST(Files, LinesComeWithTheirNumbersAndWithoutBlanks) {
  const auto file = fresh_folder("lines") / "list.txt";
  write_atomically(file,
                   "\xEF\xBB\xBF"
                   "one\r\n\n  two \t\nthree");
  const std::vector<TextLine> lines = read_lines(file);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text, "one");
  EXPECT_EQ(lines[1].text, "two");
  EXPECT_EQ(lines[1].number, 3);
  EXPECT_EQ(lines[2].text, "three");
  EXPECT_EQ(at_line("list.txt", 3), "list.txt:3");
}

TEST(Files, UTF16IsNotReadAsNamesWithZeros) {
  const auto file = fresh_folder("utf16") / "classes.txt";
  for (const std::string& text : {std::string("\xFF\xFE"
                                              "c\0a\0t\0",
                                              8),
                                  std::string("\xFE\xFF\0c\0a\0t", 8)}) {
    write_atomically(file, text);
    try {
      read_lines(file);
      FAIL() << "nothing was thrown";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("classes.txt: this text is in UTF-16"), std::string::npos)
          << e.what();
    }
  }
}

std::string refusal(const fs::path& file, uint64_t most = most_text_bytes) {
  try {
    read_file(file, most);
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Files, PipesAndDevicesAreRefusedAtOnce) {
  const auto folder = fresh_folder("pipes");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);  // nobody ever writes into it
  for (const fs::path& file : {folder / "pipe", fs::path("/dev/zero"), fs::path("/dev/null")}) {
    EXPECT_NE(refusal(file).find("pipe or a device"), std::string::npos) << refusal(file);
    EXPECT_FALSE(open_regular(file));
    EXPECT_THROW(refuse_irregular(file), InputError);
  }
  EXPECT_NE(refusal(folder).find("folder"), std::string::npos);
  EXPECT_NE(refusal(folder / "gone").find("No such file"), std::string::npos);
  EXPECT_NO_THROW(refuse_irregular(folder / "gone"));
}

TEST(Files, AFileIsReadUpToTheLimitAndRefusedBeyond) {
  const auto folder = fresh_folder("limit");
  write_atomically(folder / "a", std::string(100, 'x'));
  EXPECT_EQ(read_file(folder / "a", 100), std::string(100, 'x'));
  EXPECT_NE(refusal(folder / "a", 99).find("larger than"), std::string::npos);
  write_atomically(folder / "sparse", "x");
  fs::resize_file(folder / "sparse", most_text_bytes + 1);  // takes no space, and is not read
  EXPECT_NE(refusal(folder / "sparse").find("larger than 64 MiB"), std::string::npos);
  uint64_t bytes = 0;
  EXPECT_TRUE(open_sized(folder / "a", bytes));
  EXPECT_EQ(bytes, 100);
  for (const fs::path& other : {folder / "gone", folder, fs::path("/dev/zero")})
    EXPECT_THROW(open_sized(other, bytes), InputError) << other;
  // Its size is said to be 0.
  EXPECT_NE(read_file("/proc/self/status").find("VmRSS"), std::string::npos);
}

/// Counts what is flushed, and has the next ones fail.
struct CountedFlushes {
  static inline int count = 0, failing = 0, reason = 0;
  CountedFlushes() {
    count = failing = 0;
    flush_written = [](int descriptor) {
      ++count;
      if (failing-- <= 0) return ::fsync(descriptor);
      errno = reason;
      return -1;
    };
  }
  ~CountedFlushes() { flush_written = ::fsync; }
};

TEST(Files, WhatMustOutliveAPowerFailureIsFlushedAndNothingElse) {
  const auto folder = fresh_folder("counted");
  const CountedFlushes disk;
  const auto flushes = [](const std::function<void()>& work) {
    CountedFlushes::count = 0;
    work();
    return CountedFlushes::count;
  };
  EXPECT_EQ(flushes([&] { write_atomically(folder / "a", "x"); }), 2)
      << "the file, and its name in the folder";
  EXPECT_EQ(flushes([&] { write_unflushed(folder / "b", "x"); }), 0);
  EXPECT_EQ(read_file(folder / "b"), "x");
  EXPECT_EQ(flushes([&] { append_to_file(folder / "a", "y"); }), 0);
  EXPECT_EQ(flushes([&] { flush_file(folder / "a"); }), 1);
  EXPECT_EQ(flushes([&] { flush_file(folder / "gone"); }), 0);
  std::error_code error;
  EXPECT_EQ(flushes([&] { create_folders(folder / "new/one", error); }), 2)
      << "each name in the folder above";
  EXPECT_FALSE(error);
  EXPECT_TRUE(fs::is_directory(folder / "new/one"));
  EXPECT_EQ(flushes([&] { create_folders(folder / "new/one", error); }), 0);
  create_folders(folder / "a/below", error);
  EXPECT_TRUE(error);
}

TEST(Files, AFlushIsTriedAgainAndThatADiskCannotIsNoFailure) {
  const auto folder = fresh_folder("tried");
  const CountedFlushes disk;
  const auto write = [&](int failing, int reason) {
    CountedFlushes::failing = failing;
    CountedFlushes::reason = reason;
    write_atomically(folder / "a", std::to_string(reason));
  };
  EXPECT_NO_THROW(write(2, EINTR));
  EXPECT_EQ(CountedFlushes::failing, -2) << "again until it is done";
  EXPECT_NO_THROW(write(2, EINVAL));
  EXPECT_THROW(write(1, EIO), InputError);
  EXPECT_EQ(read_file(folder / "a"), std::to_string(EINVAL)) << "the old content";
  EXPECT_EQ(entries(folder), 1u);
}

// The processes of a run must not hold files of the one that starts them.
TEST(Files, FilesThatAreWrittenAreNotInherited) {
  const auto folder = fresh_folder("inherited");
  const AtomicFile atomic(folder / "weights");
  const int log = open_no_link(folder / "log", O_WRONLY | O_CREAT);
  EXPECT_NE(::fcntl(log, F_GETFD) & FD_CLOEXEC, 0);
  int seen = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (!AtomicFile::is_temporary(fs::read_symlink(entry.path(), gone))) continue;
    ++seen;
    EXPECT_NE(::fcntl(std::stoi(entry.path().filename().string()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(seen, 1);
  ::close(log);
}

TEST(Files, TemporaryFilesAreKnownByTheirWholeName) {
  EXPECT_TRUE(AtomicFile::is_temporary("folder/last.safetensors.123-0.tmp"));
  for (const char* other :
       {"last.123.tmp", "last.123-0.tmp.gz", ".123-0.tmp", "last.a-0.tmp", "last123-0.tmp"})
    EXPECT_FALSE(AtomicFile::is_temporary(other)) << other;
}

TEST(Files, AreWrittenUnderTheLongestNames) {
  const auto folder = fresh_folder("longest");
  const auto longest = folder / std::string(255, 'n');
  write_atomically(longest, "all of it");
  EXPECT_EQ(read_file(longest), "all of it");
  EXPECT_THROW(AtomicFile(folder / std::string(256, 'n')), InputError);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace brightnet
