#include "core/log.h"

#include <csignal>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/files.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

TEST(Log, HoldsWhatWasSaidBeforeItsFileWasKnown) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "kept.log";
  std::filesystem::remove(file);
  log::info("said before anybody listened");
  keep_messages();
  log::info("the first");
  log::warn("the second");
  log_to_file(file);
  log::info("the third");
  const std::string text = read_file(file);
  const size_t first = text.find(" info the first\n"), second = text.find(" warning the second\n"),
               third = text.find(" info the third\n");
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, third) << text;
  EXPECT_NE(third, std::string::npos) << text;
  EXPECT_EQ(text.find("anybody"), std::string::npos) << text;
  std::filesystem::remove(file);
}

TEST(Log, AFileThatHasTakenThePlaceOfALogIsLeftAlone) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "replaced.log";
  const auto away = std::filesystem::path(::testing::TempDir()) / "replaced-away.log";
  for (const auto& old : {file, away}) std::filesystem::remove(old);
  log_to_file(file);
  log::info("one");
  std::filesystem::rename(file, away);
  log::info("two");
  EXPECT_FALSE(std::filesystem::exists(file));
  write_atomically(file, "another run's\n");
  log::info("three");
  EXPECT_EQ(read_file(file), "another run's\n");
  std::filesystem::rename(away, file);
  log::info("four");
  end_log_file();
  const std::string text = read_file(file);
  for (const char* word : {"one", "two", "three", "four"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

/// While one lives, no file grows beyond the size of this one: the disk is full.
class FullAt {
 public:
  explicit FullAt(const std::filesystem::path& file) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &whole_), 0);
    const rlimit full{.rlim_cur = std::filesystem::file_size(file), .rlim_max = whole_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  }
  ~FullAt() {
    ::setrlimit(RLIMIT_FSIZE, &whole_);
    std::signal(SIGXFSZ, handler_);
  }
  FullAt(const FullAt&) = delete;
  FullAt& operator=(const FullAt&) = delete;

 private:
  void (*handler_)(int);
  rlimit whole_{};
};

TEST(Log, SaysThatItsLastMessagesCannotBeWritten) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "full_at_end.log";
  std::filesystem::remove(file);
  const testing::Logged logged;
  log_to_file(file);
  log::info("one");
  {
    const FullAt full(file);
    log::info("two");
    end_log_file();
  }
  EXPECT_NE(logged.text().find("The last messages are not in this log"), std::string::npos) << logged.text();
  EXPECT_EQ(read_file(file).find("two"), std::string::npos);
  std::filesystem::remove(file);
}

TEST(Log, SaysOnceThatItsFileCannotBeWrittenAndWritesTheRestAtItsEnd) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "full.log";
  std::filesystem::remove(file);
  std::vector<std::string> said;
  const LogSink before =
      set_log_sink([&said](LogLevel, std::string_view message) { said.emplace_back(message); });
  log_to_file(file);
  log::info("one");
  {
    const FullAt full(file);
    log::info("two");
    log::info("three");
  }
  end_log_file();
  set_log_sink(before);
  ASSERT_EQ(said.size(), 4u);
  EXPECT_NE(said[2].find("full.log: this file cannot be written: File too large"), std::string::npos)
      << said[2];
  const std::string text = read_file(file);
  for (const char* word : {" one\n", " two\n", " three\n"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  std::filesystem::remove(file);
}

TEST(Log, GoesToTheSinkAndNowhereWithoutOne) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  log::warn("said to nobody");
  std::vector<std::string> said;
  const LogSink before = set_log_sink([&said](LogLevel level, std::string_view message) {
    said.push_back(std::to_string(static_cast<int>(level)) + std::string(message));
  });
  EXPECT_FALSE(before);
  log::info("one {}", 1);
  log::warn("two");
  log::error("{}", "{three}");
  log::result("four");
  set_log_sink({});
  log::error("said to nobody again");
  EXPECT_EQ(said, (std::vector<std::string>{"1one 1", "2two", "3{three}", "0four"}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout(), "");
}

TEST(Log, ResultsGoToStandardOutputUnlessThatIsTaken) {
  const auto printed = [](const LogSink& sink) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const LogSink before = set_log_sink(sink);
    log_as_rank(0);
    log::result("found");
    log::info("how");
    log_as_rank(std::nullopt);
    set_log_sink(before);
    return ::testing::internal::GetCapturedStdout() + '|' + ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed(standard_sink()), "found\n|[0] how\n");
  EXPECT_EQ(printed(standard_sink(ResultsGo::to_standard_error)), "|found\n[0] how\n");
}

TEST(Log, OtherRanksThanTheFirstSayWarningsAlone) {
  const testing::Logged logged;
  log_as_rank(0);
  log::info("first");
  log_as_rank(1);
  log::info("second");
  log::result("none");
  log::warn("third");
  log_as_rank(std::nullopt);
  log::info("fourth");
  EXPECT_EQ(logged.text(), "[0] first\n[1] third\nfourth\n");
}

TEST(Log, AFilesLinesBeginWithTheDateAndTheTime) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "dated.log";
  std::filesystem::remove(file);
  log_to_file(file);
  log::error("it is late");
  end_log_file();
  const std::string text = read_file(file);
  EXPECT_TRUE(std::regex_match(
      text, std::regex(R"(2\d{3}-[01]\d-[0-3]\d [0-2]\d:[0-5]\d:[0-6]\d error it is late\n)")))
      << text;
}

TEST(Log, KeepsAMegabyteOfMessagesAtMost) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "megabyte.log";
  std::filesystem::remove(file);
  keep_messages();
  const std::string line(1 << 12, 'x');
  for (int i = 0; i < 300; ++i) log::info("{} {}", i, line);
  log_to_file(file);
  end_log_file();
  const std::string text = read_file(file);
  EXPECT_GT(text.size(), size_t{1000} << 10);
  EXPECT_LE(text.size(), size_t{1} << 20);
  EXPECT_NE(text.find(" info 0 x"), std::string::npos) << "the first ones stay";
}

// A program may change its folder while a run goes on.
TEST(Log, AFilesPlaceDoesNotMoveWithTheFolder) {
  const auto before = std::filesystem::current_path();
  const auto folder = std::filesystem::path(::testing::TempDir()) / "log_place";
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  std::filesystem::remove("relative.log");
  log_to_file("relative.log");
  std::filesystem::current_path(before);
  log::info("from elsewhere");
  end_log_file();
  EXPECT_NE(read_file(folder / "relative.log").find("from elsewhere"), std::string::npos);
}

}  // namespace
}  // namespace brightnet
