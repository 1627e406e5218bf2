// What `--ranks` makes of mpirun: a script in its place says how it was called.
#include "cli/rank_launch.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/environment.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;
using testing::Environment;

class RunRanks : public ::testing::Test {
 protected:
  RunRanks() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunRanks() override { fs::remove_all(folder_); }

  /// `script` is what mpirun does.
  void be_mpirun(const std::string& script) {
    write_atomically(folder_ / "mpirun", "#!/bin/sh\n" + script + '\n');
    fs::permissions(folder_ / "mpirun", fs::perms::owner_all);
    environment_.set("PATH", folder_.string() + ":/usr/bin:/bin");
  }
  std::string read(const std::string& name) const { return read_file(folder_ / name); }
  /// Sends `number` to this process as soon as mpirun is ready for it.
  std::thread send_when_ready(int number) const {
    return std::thread([this, number] {
      while (!fs::exists(folder_ / "ready")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ::kill(::getpid(), number);
    });
  }

  Environment environment_;
  fs::path folder_ =
      fs::path(::testing::TempDir()) /
      ("launch_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(RunRanks, CallsMpirunWithTheProgramAndItsWordsUnchanged) {
  be_mpirun("for word in \"$@\"; do echo \"$word\"; done > " + (folder_ / "words").string());
  EXPECT_EQ(run_ranks(3, "/bin/true", {"train", "a b.yaml", "--set", "x=$HOME"}).code, 0);
  const std::string words = read("words");
  EXPECT_NE(words.find("-np\n3\n"), std::string::npos) << words;
  const std::string last = "/bin/true\ntrain\na b.yaml\n--set\nx=$HOME\n";
  ASSERT_GE(words.size(), last.size());
  EXPECT_EQ(words.substr(words.size() - last.size()), last);
}

TEST_F(RunRanks, KnowHowManyWereStarted) {
  environment_.set("BRIGHTNET_LAUNCHED_RANKS", std::nullopt);
  EXPECT_EQ(launched_ranks(), 0);
  be_mpirun("[ $BRIGHTNET_LAUNCHED_RANKS = 3 ]");
  EXPECT_EQ(run_ranks(3, "/bin/true", {}).code, 0);
  EXPECT_EQ(run_ranks(1, "/bin/sh", {"-c", "[ $BRIGHTNET_LAUNCHED_RANKS = 1 ]"}).code, 0);
  environment_.set("BRIGHTNET_LAUNCHED_RANKS", "8");
  EXPECT_EQ(launched_ranks(), 8);
}

TEST_F(RunRanks, AllowsRootAsContainersHaveIt) {
  environment_.set("OMPI_ALLOW_RUN_AS_ROOT", std::nullopt);
  environment_.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", std::nullopt);
  be_mpirun("[ \"$OMPI_ALLOW_RUN_AS_ROOT$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM\" = 11 ]");
  EXPECT_EQ(run_ranks(2, "/bin/true", {}).code, 0);
}

TEST_F(RunRanks, HaveTheExitCodeOfMpirun) {
  be_mpirun("exit 4");
  EXPECT_EQ(run_ranks(2, "/bin/true", {}).code, 4);
  be_mpirun("kill -9 $$");
  EXPECT_EQ(run_ranks(2, "/bin/true", {}).code, 128 + SIGKILL);
}

// `nohup brightnet train --restarts 3`: the second ranks must outlive the terminal as well.
TEST_F(RunRanks, LeaveIgnoredSignalsIgnoredForTheNextRanks) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(run_ranks(1, "/bin/true", {}).code, 0);
  const RanksEnd next = run_ranks(1, "/bin/sh", {"-c", "kill -HUP $$; kill -HUP $PPID"});
  EXPECT_EQ(next.code, 0);
  EXPECT_FALSE(next.asked);
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

TEST_F(RunRanks, WithoutMpirunSayWhatToInstall) {
  environment_.set("PATH", folder_.string());
  try {
    run_ranks(2, "/bin/true", {});
    FAIL() << "there is no mpirun";
  } catch (const InputError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("mpirun"), std::string::npos) << text;
    EXPECT_NE(text.find("openmpi-bin"), std::string::npos) << text;
  }
}

TEST_F(RunRanks, ASignalReachesMpirunAsARequestToSave) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    fs::remove(folder_ / "ready");
    be_mpirun("trap 'exit 4' USR1; trap 'exit 9' INT TERM; touch " + (folder_ / "ready").string() +
              "; while :; do sleep 0.01; done");
    std::thread sender = send_when_ready(number);
    EXPECT_EQ(run_ranks(2, "/bin/true", {}).code, 4) << number;
    sender.join();
  }
}

// mpirun forwards it to the ranks that it has started: what came before that was lost, and the run went on.
TEST_F(RunRanks, ASignalWaitsUntilThereAreRanks) {
  const std::string started = (folder_ / "started").string();
  // Without a process of its own until then.
  be_mpirun("trap '[ ! -e " + started + " ] || exit 4' USR1; : >" + (folder_ / "ready").string() +
            "; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; : >" + started +
            "; sleep 5 & wait; exit 9");
  std::thread sender = send_when_ready(SIGTERM);
  EXPECT_EQ(run_ranks(2, "/bin/true", {}).code, 4);
  sender.join();
}

/// How a process that may start none ends: 0 when run_ranks() says so, and leaves signals and descriptors as they were.
int end_without_a_process() {
  if (::getuid() == 0) static_cast<void>(!::setresuid(65534, 65534, 65534));  // the limit is not for root
  rlimit none{};
  ::getrlimit(RLIMIT_NPROC, &none);
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NPROC, &none);
  const int next = ::dup(STDERR_FILENO);
  ::close(next);
  try {
    run_ranks(1, "/bin/true", {});
    return 1;
  } catch (const InputError&) {
  }
  sigset_t held;
  ::sigprocmask(SIG_BLOCK, nullptr, &held);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    if (sigismember(&held, signal)) return 2;
  }
  return ::dup(STDERR_FILENO) == next ? 0 : 3;
}

// Whoever goes on after that was deaf to Ctrl-C.
TEST_F(RunRanks, ThatCannotBeStartedLeaveSignalsAndDescriptorsAsTheyWere) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(end_without_a_process());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

bool stops_at_fork = false;

void stop_parent_at_fork() {
  if (stops_at_fork) ::raise(SIGTERM);
}

void hold_child_at_fork() {
  if (stops_at_fork) std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

// It is passed on before the process has become the program: this one's handler took it there, and the run went on.
TEST_F(RunRanks, ASignalDuringTheStartIsNotLost) {
  ASSERT_EQ(::pthread_atfork(nullptr, stop_parent_at_fork, hold_child_at_fork), 0);
  stops_at_fork = true;
  const RanksEnd end = run_ranks(1, "/bin/sh", {"-c", "sleep 1; exit 7"});
  stops_at_fork = false;
  EXPECT_TRUE(end.asked);
  EXPECT_EQ(end.code, 128 + SIGTERM) << "of this signal, not of that by which it is passed on";
}

// With --restarts there is a next start, and a wait before it: `nohup` holds for these, too.
TEST_F(RunRanks, SignalsMeanAfterwardsWhatTheyMeantBefore) {
  const auto own = [](int) {};
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGTERM, own);
  for (int start = 1; start <= 2; ++start) {
    fs::remove(folder_ / "ready");
    be_mpirun("trap 'exit 4' USR1; touch " + (folder_ / "ready").string() + "; sleep 0.3; exit 7");
    std::thread sender = send_when_ready(SIGHUP);
    const RanksEnd end = run_ranks(2, "/bin/true", {});
    EXPECT_EQ(end.code, 7) << "the hangup was passed on in start " << start;
    EXPECT_FALSE(end.asked);
    sender.join();
    struct sigaction now {};
    ::sigaction(SIGHUP, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_IGN) << "after start " << start;
    if (now.sa_handler != SIG_IGN) break;  // the next hangup would end the tests
    ::sigaction(SIGTERM, nullptr, &now);
    EXPECT_EQ(now.sa_handler, static_cast<void (*)(int)>(own)) << "after start " << start;
  }
  std::signal(SIGHUP, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

TEST_F(RunRanks, ASecondSignalEndsThem) {
  be_mpirun("trap 'touch " + (folder_ / "asked").string() + "' USR1; trap 'exit 9' TERM; touch " +
            (folder_ / "ready").string() + "; while :; do sleep 0.01; done");
  std::thread sender([this] {
    while (!fs::exists(folder_ / "ready")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(::getpid(), SIGINT);
    while (!fs::exists(folder_ / "asked")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(::getpid(), SIGINT);
  });
  EXPECT_EQ(run_ranks(2, "/bin/true", {}).code, 128 + SIGINT) << "as a single process ends";
  sender.join();
}

// Before MPI is there, and in `eval` at any time, the request that is passed on ends the ranks.
TEST_F(RunRanks, ThatARequestHasEndedHaveTheCodeOfTheUsersSignal) {
  const auto code = [&](int number, const std::string& ends_with) {
    fs::remove(folder_ / "ready");
    be_mpirun("trap 'exit " + ends_with + "' USR1; touch " + (folder_ / "ready").string() +
              "; while :; do sleep 0.01; done");
    std::thread sender = send_when_ready(number);
    const RanksEnd end = run_ranks(2, "/bin/true", {});
    sender.join();
    EXPECT_TRUE(end.asked);
    return end.code;
  };
  const std::string by_request = std::to_string(128 + SIGUSR1);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) EXPECT_EQ(code(number, by_request), 128 + number);
  EXPECT_EQ(code(SIGTERM, "1"), 1) << "an error of its own";
  EXPECT_EQ(code(SIGTERM, "137"), 137) << "no more memory";
}

}  // namespace
}  // namespace brightnet::cli
