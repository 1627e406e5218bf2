#include "core/child_process.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class ChildProcess : public ::testing::Test {
 protected:
  /// Its exit code, when what it wrote is in `output`.
  int run(const std::string& script, const fs::path& output) {
    sigset_t none;
    sigemptyset(&none);
    const pid_t child = start_process({"sh", "-c", script}, "--jobs", none, output);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return exit_code_of(status);
  }
  const fs::path output_ = fs::path(::testing::TempDir()) / "child_process_output";
};

TEST_F(ChildProcess, WritesBothStreamsIntoAFileThatAnyoneMayReadAsTheUmaskAllows) {
  write_atomically(output_, "what an earlier process wrote, longer than what this one writes");
  EXPECT_EQ(run("echo out; echo err >&2", output_), 0);
  EXPECT_EQ(read_file(output_), "out\nerr\n");
  fs::remove(output_);
  const mode_t before = ::umask(0);
  EXPECT_EQ(run("cat", output_), 0) << "there is nothing to read";
  ::umask(before);
  struct stat made {};
  ASSERT_EQ(::stat(output_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0666u);
}

// What a trial says must not appear among the answers of `brightnet tune`.
TEST_F(ChildProcess, IsNotStartedWithoutTheFileOfItsOutput) {
  const fs::path ran = fs::path(::testing::TempDir()) / "child_process_ran";
  fs::remove(ran);
  fs::remove(output_);
  fs::create_symlink("elsewhere", output_);
  const fs::path missing = fs::path(::testing::TempDir()) / "no_such_folder/output";
  for (const fs::path& output : {missing, output_})
    EXPECT_THROW(run("touch " + ran.string(), output), InputError) << output;
  EXPECT_FALSE(fs::exists(ran));
  fs::remove(output_);
}

// `--restarts` starts its own program again after days, and it may have been updated by then.
TEST_F(ChildProcess, KnowsItsProgramAfterAnUpdate) {
  const fs::path own = this_program(), copy = fs::path(::testing::TempDir()) / "child_process_copy";
  if (own.filename() == copy.filename()) {  // the copy, which the other half of this test runs
    fs::remove(own);
    EXPECT_EQ(this_program(), own) << "nothing is there yet";
    write_atomically(own, "the new version");
    EXPECT_EQ(this_program(), own);
    return;
  }
  fs::copy_file(own, copy, fs::copy_options::overwrite_existing);
  EXPECT_EQ(run(copy.string() + " --gtest_filter=ChildProcess.KnowsItsProgramAfterAnUpdate", output_), 0)
      << read_file(output_);
  fs::remove(copy);
}

TEST_F(ChildProcess, HasTheExitCodeOfAShell) {
  EXPECT_EQ(run("exit 3", output_), 3);
  EXPECT_EQ(run("kill -TERM $$", output_), 143);
  sigset_t none;
  sigemptyset(&none);
  int status = 0;
  ::waitpid(start_process({"/nowhere/program"}, "--jobs", none, output_), &status, 0);
  EXPECT_EQ(exit_code_of(status), 127);
}

// `--restarts` asks `brightnet doctor` which GPUs work, and a GPU may hang.
TEST_F(ChildProcess, ThatHangsIsNotWaitedFor) {
  using namespace std::chrono_literals;
  sigset_t none;
  sigemptyset(&none);
  EXPECT_EQ(wait_for_process(start_process({"sh", "-c", "exit 3"}, "--jobs", none, output_), 60s), 3);
  const pid_t hanging = start_process({"sh", "-c", "trap '' TERM; sleep 600"}, "--jobs", none, output_);
  EXPECT_EQ(wait_for_process(hanging, 100ms), std::nullopt);
  int status = 0;
  EXPECT_EQ(::waitpid(hanging, &status, 0), hanging);
  EXPECT_EQ(exit_code_of(status), 128 + SIGKILL);
}

// A host may ignore the ends of its processes; `--restarts` then waited for one that had ended.
TEST_F(ChildProcess, ThatHasEndedIsNotWaitedForWhereTheKernelKeepsNoExitCode) {
  using namespace std::chrono_literals;
  sigset_t none;
  sigemptyset(&none);
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(wait_for_process(start_process({"sh", "-c", "exit 3"}, "--jobs", none, output_), 30s),
            unknown_exit_code);
  std::signal(SIGCHLD, before);
}

// Ctrl-C while `--restarts` waits for that answer.
TEST_F(ChildProcess, IsKilledWithWhatItHasStartedWhenAStopIsRequested) {
  using namespace std::chrono_literals;
  sigset_t none;
  sigemptyset(&none);
  std::stop_source stop;
  stop.request_stop();
  const pid_t child = start_process({"sh", "-c", "sleep 600"}, "--jobs", none, output_);
  EXPECT_EQ(wait_for_process(child, 24h, stop.get_token()), std::nullopt);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(exit_code_of(status), 128 + SIGKILL) << "also before it has a group of its own";
}

// Ctrl-C, which goes to a terminal's group, reaches this program alone; and what is held back stays so in the child.
TEST_F(ChildProcess, HasAGroupOfItsOwnAndTheSignalMaskThatItIsGiven) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  const pid_t child = start_process({"cat", "/proc/self/stat", "/proc/self/status"}, "--jobs", mask, output_);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::string said = read_file(output_);
  EXPECT_TRUE(said.starts_with(fmt::format("{0} (cat) R {1} {0} ", child, ::getpid())))
      << said;  // its group is the third
  EXPECT_NE(said.find("SigBlk:\t0000000000000200\n"), std::string::npos) << said;
}

TEST_F(ChildProcess, HasTheVariablesThatItIsGivenInThePlaceOfThisProgramsOwn) {
  sigset_t none;
  sigemptyset(&none);
  ::setenv("BRIGHTNET_TEST_A", "ours", 1);
  ::setenv("BRIGHTNET_TEST_AB", "kept", 1);
  const pid_t child = start_process({"sh", "-c", "env | grep BRIGHTNET_TEST | sort"}, "--jobs", none, output_,
                                    {"BRIGHTNET_TEST_A=given", "BRIGHTNET_TEST_C=x=y"});
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(read_file(output_), "BRIGHTNET_TEST_A=given\nBRIGHTNET_TEST_AB=kept\nBRIGHTNET_TEST_C=x=y\n");
  EXPECT_STREQ(std::getenv("BRIGHTNET_TEST_A"), "ours");
  ::unsetenv("BRIGHTNET_TEST_A");
  ::unsetenv("BRIGHTNET_TEST_AB");
}

// After a kill -9 of the program its trials and ranks do not go on.
TEST_F(ChildProcess, EndsWithTheProgramThatStartedIt) {
  int ends[2];  // what the child says; it is closed when all that have it have ended
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    try {
      sigset_t none;
      sigemptyset(&none);
      const std::string script = fmt::format("echo $$ >/proc/self/fd/{}; exec sleep 600", ends[1]);
      start_process({"sh", "-c", script}, "--jobs", none, output_);
      ::sleep(600);
    } catch (const InputError&) {
    }
    ::_exit(1);
  }
  ::close(ends[1]);
  char number[32] = {};
  EXPECT_GT(::read(ends[0], number, sizeof number - 1), 0) << "it has started";
  ::kill(program, SIGKILL);
  EXPECT_EQ(::waitpid(program, nullptr, 0), program);
  pollfd end{ends[0], POLLIN, 0};
  const bool has_ended = ::poll(&end, 1, 10'000) == 1;
  EXPECT_TRUE(has_ended);
  if (const int child = std::atoi(number); !has_ended && child > 0) ::kill(child, SIGKILL);
  ::close(ends[0]);
}

pid_t dies_at_once = 0;

void wait_for_its_death() {
  while (::getppid() == dies_at_once) ::usleep(1000);
}

// The kernel sends the signal of the test above only to who has asked for it before.
TEST_F(ChildProcess, IsNotRunWhereTheProgramThatStartedItHasDiedAlready) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    dies_at_once = ::getpid();
    ::pthread_atfork(nullptr, nullptr, wait_for_its_death);
    try {
      sigset_t none;
      sigemptyset(&none);
      start_process({"sh", "-c", fmt::format("echo lives >/proc/self/fd/{}", ends[1])}, "--jobs", none);
    } catch (const InputError&) {
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  EXPECT_EQ(::waitpid(program, nullptr, 0), program);
  char said[32] = {};
  EXPECT_EQ(::read(ends[0], said, sizeof said - 1), 0) << said;
  ::close(ends[0]);
}

}  // namespace
}  // namespace brightnet
