#include "formats/download/transfer.h"

#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <sys/resource.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/formats/download/http_server.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

std::string some_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * i % 251 + i / 997);
  return bytes;
}

class Transfer : public ::testing::Test {
 protected:
  Transfer() {
    fs::create_directories(file_.parent_path());
    fs::remove(file_);
    options_.first_wait = 0.01;
  }
  ~Transfer() override { fs::remove(file_); }

  /// The error's message; empty when the file came.
  std::string fetch(const std::string& path) {
    const int descriptor = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    std::string error;
    try {
      transfer(path.starts_with("http") ? path : server_.address(path), descriptor, "net.weights", options_);
    } catch (const Error& e) {
      error = e.what();
      code_ = e.code();
    }
    ::close(descriptor);
    return error;
  }
  std::string content() const { return read_file(file_); }
  void have(const std::string& bytes) { write_atomically(file_, bytes); }

  const std::string body_ = some_bytes(300000);
  HttpServer server_;
  fs::path file_ = fs::path(::testing::TempDir()) / "transfer" /
                   ::testing::UnitTest::GetInstance()->current_test_info()->name() / "net.weights.part";
  TransferOptions options_;
  ExitCode code_ = ExitCode::done;
};

using Requests = std::vector<std::string>;

TEST_F(Transfer, BringsAFileByWayOfRedirections) {
  server_.serve("/a", {.status = 302, .location = "/b"});
  server_.serve("/b", {.status = 301, .location = server_.address("/c")});
  server_.serve("/c", {.body = body_});
  options_.bytes = body_.size();
  EXPECT_EQ(fetch("/a"), "");
  EXPECT_EQ(content(), body_);
  EXPECT_EQ(server_.requests(), (Requests{"/a", "/b", "/c"}));
}

TEST_F(Transfer, ContinuesWithARangeWhatBrokeOff) {
  server_.serve("/a", {.body = body_, .breaks = 2, .break_after = 70000});
  options_.bytes = body_.size();
  EXPECT_EQ(fetch("/a"), "");
  EXPECT_EQ(content(), body_);
  const Requests requests = server_.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0], "/a");
  EXPECT_EQ(requests[1], "/a 70000-");
  EXPECT_EQ(requests[2], "/a 140000-");
}

TEST_F(Transfer, ContinuesWhatAnEarlierProcessLeft) {
  server_.serve("/a", {.body = body_});
  have(body_.substr(0, 123456));
  EXPECT_EQ(fetch("/a"), "");
  EXPECT_EQ(content(), body_);
  EXPECT_EQ(server_.requests(), Requests{"/a 123456-"});
}

TEST_F(Transfer, BeginsAnewWhereTheServerSendsAllOfIt) {
  server_.serve("/a", {.body = body_, .ranges = false});
  have(some_bytes(body_.size() + 1000));  // all of it is replaced, and its end is gone
  EXPECT_EQ(fetch("/a"), "");
  EXPECT_EQ(content(), body_);
}

TEST_F(Transfer, TakesAWholeFileAsWhole) {
  server_.serve("/a", {.body = body_});
  have(body_);
  EXPECT_EQ(fetch("/a"), "") << "the server answers that nothing comes after it";
  EXPECT_EQ(content(), body_);
}

TEST_F(Transfer, WaitsForAServerThatIsOverloaded) {
  server_.serve("/a", {.body = body_, .unavailable = 3});
  EXPECT_EQ(fetch("/a"), "");
  EXPECT_EQ(content(), body_);
  EXPECT_EQ(server_.requests().size(), 4u);
}

TEST_F(Transfer, WaitsForAServerThatWasAskedTooOften) {
  server_.serve("/a", {.body = body_, .unavailable = 2, .refusal = 429});
  EXPECT_EQ(fetch("/a"), "");
  EXPECT_EQ(content(), body_);
  EXPECT_EQ(server_.requests().size(), 3u);
}

TEST_F(Transfer, GivesUpWhenNothingComes) {
  server_.serve("/a", {.body = body_, .unavailable = 100});
  options_.attempts = 3;
  EXPECT_NE(fetch("/a").find("HTTP 503"), std::string::npos);
  EXPECT_EQ(server_.requests().size(), 3u);
  EXPECT_EQ(code_, ExitCode::input);
}

TEST_F(Transfer, SaysThatThereIsNoSuchFile) {
  const std::string error = fetch("/none");
  EXPECT_NE(error.find("there is no such file at " + server_.address("/none") + " (HTTP 404)"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("BRIGHTNET_MIRROR (brightnet download: --mirror)"), std::string::npos)
      << "detect has no --mirror: " << error;
  EXPECT_EQ(server_.requests().size(), 1u) << "that is no reason to wait";
  EXPECT_EQ(content(), "") << "the error's page is not the file";
}

TEST_F(Transfer, RefusesAnotherLengthBeforeItIsFetched) {
  server_.serve("/a", {.body = body_});
  options_.bytes = body_.size() + 1;
  const std::string error = fetch("/a");
  EXPECT_NE(error.find("300000 bytes"), std::string::npos) << error;
  EXPECT_NE(error.find("the file has 300001"), std::string::npos) << error;
  EXPECT_EQ(content(), "");
  server_.serve("/b", {.body = body_, .length = false});
  options_.bytes = 1000;
  EXPECT_NE(fetch("/b"), "") << "nobody said how long it is";
  EXPECT_LE(content().size(), 1000u);
}

TEST_F(Transfer, TriesAgainWhatEndsTooSoon) {
  server_.serve("/a", {.body = body_.substr(0, 1000), .ranges = false, .length = false});
  options_.bytes = body_.size();
  options_.attempts = 3;
  const std::string error = fetch("/a");
  EXPECT_NE(error.find("the answer ended after 1000 of 300000 bytes"), std::string::npos) << error;
  EXPECT_EQ(server_.requests().size(), 3u) << "the same beginning again is no progress";
}

TEST_F(Transfer, SaysThatThereIsNoNetwork) {
  const std::string error = fetch("http://127.0.0.1:1/net.weights");
  EXPECT_NE(error.find("could not be fetched"), std::string::npos) << error;
  EXPECT_NE(error.find("fetch the file on another machine"), std::string::npos) << error;
  EXPECT_NE(fetch("http://no.such.host.invalid/a").find("could not be fetched"), std::string::npos);
  EXPECT_EQ(code_, ExitCode::input);
}

TEST_F(Transfer, StopsWhenItIsToldAndKeepsWhatCame) {
  server_.serve("/a", {.body = some_bytes(30 << 20), .pause_ms = 20});
  options_.progress = [](uint64_t done, uint64_t) { return done < 200000; };
  const std::string error = fetch("/a");
  EXPECT_EQ(code_, ExitCode::interrupted);
  EXPECT_NE(error.find("was stopped"), std::string::npos) << error;
  const std::string kept = content();
  EXPECT_GE(kept.size(), 200000u);
  EXPECT_EQ(kept, some_bytes(30 << 20).substr(0, kept.size()));
}

TEST_F(Transfer, SaysThatTheDiskIsFull) {
  server_.serve("/a", {.body = body_});
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{100000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  const std::string error = fetch("/a");
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(error.find("cannot be written: File too large"), std::string::npos) << error;
  EXPECT_EQ(content().size(), 100000u) << "to be continued when there is room";
  EXPECT_EQ(fetch("/a"), "");
  EXPECT_EQ(content(), body_);
}

// The length of what a server sends need not be said in advance.
TEST_F(Transfer, GivesUpWhatIsTooLongAsSoonAsThatShows) {
  options_.most = 100000;
  for (const bool length : {true, false}) {
    server_.serve("/a", {.body = body_, .length = length});
    const std::string error = fetch("/a");
    EXPECT_NE(error.find("is larger than 0.1 MiB"), std::string::npos) << length << error;
    EXPECT_LE(content().size(), options_.most) << length;
    fs::remove(file_);
  }
  options_.most = body_.size();
  EXPECT_EQ(fetch("/a"), "") << "no longer than it may be";
  EXPECT_EQ(content(), body_);
}

}  // namespace
}  // namespace brightnet::testing
