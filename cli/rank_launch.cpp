#include "cli/rank_launch.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>

#include <sys/wait.h>
#include <unistd.h>

#include "brightnet/error.h"
#include "core/child_process.h"

namespace brightnet::cli {
namespace {

/// Beyond this, `--ranks` is a mistake that would freeze the machine.
constexpr int most_ranks_of_a_processor = 16;

volatile std::sig_atomic_t launcher = 0;
volatile std::sig_atomic_t asked = 0;

// On SIGINT and SIGTERM, mpirun kills its processes within two seconds, too soon for a step and a checkpoint.
// It forwards SIGUSR1.
extern "C" void pass_on(int signal) {
  const int saved = errno;
  // A closed terminal and its shell both send a hangup, which must not count as a second request.
  if (signal != SIGHUP || !asked) ::kill(static_cast<pid_t>(launcher), asked ? SIGTERM : SIGUSR1);
  asked = 1;
  errno = saved;
}

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP};

/// Passes these signals on during its lifetime, but those that are ignored (nohup), which stay so. Afterwards all do what
/// they did before: a run that is started again has been started by the same nohup.
class PassedOn {
 public:
  PassedOn() {
    struct sigaction pass {};
    pass.sa_handler = pass_on;
    pass.sa_flags = SA_RESTART;
    for (size_t i = 0; i < std::size(passed_on); ++i) {
      ::sigaction(passed_on[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(passed_on[i], &pass, nullptr);
    }
  }
  ~PassedOn() {
    for (size_t i = 0; i < std::size(passed_on); ++i) ::sigaction(passed_on[i], &before_[i], nullptr);
  }
  PassedOn(const PassedOn&) = delete;
  PassedOn& operator=(const PassedOn&) = delete;

 private:
  struct sigaction before_[std::size(passed_on)];
};

}  // namespace

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
  // Containers run as root, which mpirun refuses unless both are set.
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  // Within a cluster job, mpirun would use the scheduler's allocation; `--ranks` means this machine.
  ::setenv("OMPI_MCA_ras", "^slurm,tm,lsf,gridengine", 0);
  ::setenv("OMPI_MCA_plm", "isolated", 0);
  ::setenv("PRTE_MCA_ras", "^slurm,pbs,lsf,gridengine", 0);  // Open MPI 5
  // `--quiet` of Open MPI 4, which 5 does not know: the ranks have said why they end.
  ::setenv("OMPI_MCA_orte_execute_quiet", "1", 0);

  // Signals are held back until the handlers are installed.
  sigset_t stops, before;
  sigemptyset(&stops);
  for (const int signal : passed_on) sigaddset(&stops, signal);
  ::sigprocmask(SIG_BLOCK, &stops, &before);
  const pid_t child = start_process(words, "--ranks", before);
  launcher = child;
  asked = 0;
  int status = 0;
  {
    const PassedOn signals;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  const int code = exit_code_of(status);
  if (code == 127 && ranks > 1) {
    throw InputError(
        "mpirun, which starts the ranks, cannot be run", "--ranks",
        "Install Open MPI (Debian and Ubuntu: openmpi-bin; pip: 'brightnet[mpi]'), or leave --ranks out.");
  }
  return {code, asked != 0};
}

}  // namespace brightnet::cli
