#include "tune/trial_process.h"

#include <cerrno>
#include <csignal>
#include <string_view>

#include <fmt/format.h>
#include <sys/wait.h>

#include "core/child_process.h"
#include "core/clock.h"
#include "core/files.h"
#include "kernels/device/device.h"
#include "train/report/metrics_csv.h"
#include "train/run/run_folder.h"

namespace brightnet {
namespace {

/// How a failure begins, in the table too.
constexpr std::string_view without_score = "none of its evaluations";

std::string ended_by_signal(int signal) {
  return fmt::format("it was ended by signal {}", signal);
}

sigset_t current_mask() {
  sigset_t mask;
  ::sigprocmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

std::string last_line(const std::filesystem::path& file) {
  const auto lines = is_there(file) ? read_lines(file) : std::vector<TextLine>();
  return lines.empty() ? "" : lines.back().text;
}

std::string failure_of(int exit_code, const std::filesystem::path& log) {
  if (exit_code == static_cast<int>(ExitCode::interrupted)) return "it was stopped by a signal";
  if (exit_code == unknown_exit_code) {
    return "how it ended is not known, since this program ignores the ends of its processes: set SIGCHLD to SIG_DFL "
           "before search_values()";
  }
  if (exit_code > 128) return ended_by_signal(exit_code - 128);
  const std::string said = last_line(log);
  return said.empty() ? fmt::format("it ended with exit code {}", exit_code) : said;
}

}  // namespace

TrialProcess::TrialProcess(const std::vector<std::string>& words, const std::filesystem::path& log,
                           const std::vector<std::string>& environment)
    : process_(start_process(words, "--jobs", current_mask(), log, environment)), began_(seconds_now()) {}

TrialProcess::~TrialProcess() {
  if (ended()) return;
  stop();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void TrialProcess::stop() {
  if (code_ || asked_) return;
  asked_ = true;
  ::kill(process_, SIGTERM);
}

std::optional<int> TrialProcess::ended() {
  if (!code_) code_ = exit_code_if_ended(process_);
  return code_;
}

double TrialProcess::seconds() const {
  return seconds_now() - began_;
}

bool ended_without_score(const std::string& failure) {
  return failure.starts_with(without_score);
}

bool was_killed(const std::string& failure) {
  return failure == ended_by_signal(SIGKILL);
}

TrialOutcome outcome_of(const std::filesystem::path& run, int exit_code, const std::filesystem::path& log,
                        BestBy best_by) {
  if (exit_code != 0) return {0, failure_of(exit_code, log)};
  const std::filesystem::path file = RunFolder::at(run).metrics();
  if (!is_there(file)) return {0, "it left no metrics.csv"};
  const MetricsTable table = read_metrics_csv(file);
  // At a smaller input, while it grew, the same network may have scored more: no weights are kept of that.
  const std::string score(enum_name(best_by));
  const std::vector<double>* const best = table.best_row(score);
  if (!best || table.value(*best, score) < 0) {
    return {0, fmt::format("{}{} has an {}", without_score,
                           table.comparable_after() < 0 ? "" : " at its final input size", score)};
  }
  return {table.value(*best, score), ""};
}

std::vector<std::string> devices_of_jobs(const std::string& device, int jobs,
                                         const cuda::Installation& installation) {
  const DeviceName name = parse_device(device);
  const std::vector<std::string> same(static_cast<size_t>(jobs), device);
  if (jobs == 1 || name.kind == DeviceKind::cpu) return same;
  // With unusable GPUs `auto` is the CPU, and `cuda` the first trial's error.
  if (installation.gpus.empty() || cuda::why_unusable(installation, 0)) return same;
  if (device.rfind("cuda:", 0) == 0) {
    throw InputError(fmt::format("{} trials side by side would share '{}'", jobs, device), "--device",
                     "Write --device cuda: each trial takes a GPU of its own.");
  }
  const auto gpus = static_cast<int>(installation.gpus.size());
  if (gpus < jobs) {
    throw DeviceError(fmt::format("this machine has {} GPUs for {} trials side by side", gpus, jobs),
                      "--jobs", fmt::format("Use --jobs {}, or --device cpu", gpus));
  }
  std::vector<std::string> own;
  for (int job = 0; job < jobs; ++job) own.push_back("cuda:" + std::to_string(job));
  return own;
}

}  // namespace brightnet
