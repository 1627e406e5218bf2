#include "cli/rank_launch.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brightnet/error.h"
#include "core/child_process.h"

namespace brightnet::cli {
namespace {

/// Beyond this, `--ranks` is a mistake that would freeze the machine.
constexpr int most_ranks_of_a_processor = 16;
/// Tells ranks how many of them `--ranks` has started.
constexpr const char* launched_variable = "BRIGHTNET_LAUNCHED_RANKS";

// A signal may interrupt another thread than the one that waits.
std::atomic<pid_t> launcher = 0;     ///< 0: none
std::atomic<int> asked = 0;          ///< the last signal; 0: none
std::atomic<bool> insisted = false;  ///< whether a second one has ended the launcher
std::atomic<int> waker = -1;         ///< an eventfd that wait_for() waits for
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "signal handlers use them");

extern "C" void wake_up(int) {
  const int saved = errno;
  constexpr uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker, &one, sizeof one);
  errno = saved;
}

/// The first request is passed on by wait_for().
extern "C" void pass_on(int signal) {
  const int saved = errno;
  const pid_t started = launcher;
  // A closed terminal and its shell both send a hangup, which must not count as a second request.
  if (asked.exchange(signal) != 0 && started > 0 && signal != SIGHUP) {
    insisted = true;
    ::kill(started, SIGTERM);
  }
  wake_up(signal);
  errno = saved;
}

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

/// Holds these signals back during its lifetime.
class HeldBack {
 public:
  HeldBack() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : passed_on) sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldBack() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldBack(const HeldBack&) = delete;
  HeldBack& operator=(const HeldBack&) = delete;

  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

/// Passes these signals on during its lifetime, but those that are ignored (nohup), which stay so. Afterwards all do what
/// they did before: a run that is started again has been started by the same nohup.
class PassedOn {
 public:
  PassedOn() {
    asked = 0;
    insisted = false;
    waker = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sigaction pass {};
    pass.sa_handler = pass_on;
    pass.sa_flags = SA_RESTART;
    for (size_t i = 0; i < std::size(passed_on); ++i) {
      ::sigaction(passed_on[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(passed_on[i], &pass, nullptr);
    }
    // The end of a child wakes this process. Where that is ignored, nobody would hear of it.
    struct sigaction wake {};
    wake.sa_handler = wake_up;
    wake.sa_flags = SA_RESTART;
    ::sigaction(SIGCHLD, &wake, &child_before_);
  }
  ~PassedOn() {
    launcher = 0;
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    for (size_t i = 0; i < std::size(passed_on); ++i) ::sigaction(passed_on[i], &before_[i], nullptr);
    ::close(waker.exchange(-1));
  }
  PassedOn(const PassedOn&) = delete;
  PassedOn& operator=(const PassedOn&) = delete;

 private:
  struct sigaction before_[std::size(passed_on)], child_before_;
};

/// Whether a process has started another; also where that cannot be found out.
bool has_children(pid_t process) {
  std::error_code failed;
  bool known = false;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", failed)) {
    std::ifstream children(thread.path() / "children");
    known |= children.is_open();
    if (pid_t child = 0; children >> child) return true;
  }
  return !known;
}

/// Waits for the end of mpirun, or of a single process, and asks it to save and stop when this process was asked. On SIGINT
/// and SIGTERM mpirun kills its processes within two seconds, too soon for a step and a checkpoint; it forwards SIGUSR1, but
/// to nobody while it has not started the ranks yet.
int wait_for(pid_t child, bool is_mpirun) {
  constexpr int soon = 20, never = -1;  // milliseconds
  int status = 0;
  for (bool told = false; ::waitpid(child, &status, WNOHANG) == 0;) {
    if (asked != 0 && !told && (!is_mpirun || has_children(child))) {
      ::kill(child, SIGUSR1);
      told = true;
    }
    pollfd wait{.fd = waker, .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, waker < 0 || (asked != 0 && !told) ? soon : never);
    uint64_t times = 0;
    [[maybe_unused]] const ssize_t got = ::read(wait.fd, &times, sizeof times);
  }
  return status;
}

/// The exit code of the ranks. Those that were not ready to save and stop yet, or do not (`eval`), have been ended by the
/// request for it, and mpirun by a second one: the code is then that of a process which the user's own signal has ended.
int code_of_ranks(int status) {
  const int code = exit_code_of(status);
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::done:
    case ExitCode::input:
    case ExitCode::device:
    case ExitCode::interrupted: return code;
    case ExitCode::internal: break;
  }
  const bool by_request = insisted || (asked != 0 && code == 128 + SIGUSR1);
  return by_request ? 128 + asked : code;
}

}  // namespace

int launched_ranks() {
  const char* const ranks = std::getenv(launched_variable);
  return ranks ? std::atoi(ranks) : 0;
}

RanksEnd run_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments) {
  const auto processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (ranks > most_ranks_of_a_processor * processors) {
    throw InputError("this machine's " + std::to_string(processors) + " processors cannot do the work of " +
                         std::to_string(ranks) + " ranks",
                     "--ranks", "Take one rank for each GPU, or on CPUs one for each processor at most.");
  }
  std::vector<std::string> words;
  if (ranks > 1) words = {"mpirun", "--oversubscribe", "--bind-to", "none", "-np", std::to_string(ranks)};
  words.push_back(program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  ::setenv(launched_variable, std::to_string(ranks).c_str(), 1);
  // Containers run as root, which mpirun refuses unless both are set.
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  // Within a cluster job, mpirun would use the scheduler's allocation; `--ranks` means this machine.
  ::setenv("OMPI_MCA_ras", "^slurm,tm,lsf,gridengine", 0);
  ::setenv("OMPI_MCA_plm", "isolated", 0);
  ::setenv("PRTE_MCA_ras", "^slurm,pbs,lsf,gridengine", 0);  // Open MPI 5
  // `--quiet` of Open MPI 4, which 5 does not know: the ranks have said why they end.
  ::setenv("OMPI_MCA_orte_execute_quiet", "1", 0);

  int status = 0;
  {
    std::optional<HeldBack> held(std::in_place);  // until the handlers and the launcher are there
    const PassedOn signals;
    launcher = start_process(words, "--ranks", held->before());
    held.reset();
    status = wait_for(launcher, ranks > 1);
  }
  const int code = code_of_ranks(status);
  if (code == 127 && ranks > 1) {
    throw InputError(
        "mpirun, which starts the ranks, cannot be run", "--ranks",
        "Install Open MPI (Debian and Ubuntu: openmpi-bin; pip: 'brightnet[mpi]'), or leave --ranks out.");
  }
  return {code, asked != 0};
}

}  // namespace brightnet::cli
