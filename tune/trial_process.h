// A trial as a process of its own, `brightnet train`: what it leaves behind is a run like any other, and a
// trial that runs out of memory ends itself alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "kernels/cuda/installation.h"
#include "train/config/evaluate_options.h"

namespace brightnet {

class TrialProcess {
 public:
  /// Starts the command, with `environment` as start_process() has it; what it prints goes to `log`.
  TrialProcess(const std::vector<std::string>& words, const std::filesystem::path& log,
               const std::vector<std::string>& environment = {});
  /// Asks a running trial to stop, and waits for it.
  ~TrialProcess();
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  /// Asks the trial to save and stop, once: a second signal would end it at once. Does not wait.
  void stop();
  /// The exit code once the trial has ended; none before. Does not wait.
  std::optional<int> ended();
  double seconds() const;

 private:
  pid_t process_;
  double began_;
  bool asked_ = false;  ///< the trial has been asked to stop
  std::optional<int> code_;
};

/// The result of a trial.
struct TrialOutcome {
  double score = 0;
  std::string failure;  ///< why the trial failed; empty: it did not
};

/// Whether a trial failed, by its `failure`, although its run ended well: it was too short for a score.
bool ended_without_score(const std::string& failure);
/// Whether it was ended by the signal that the system sends where memory is exhausted.
bool was_killed(const std::string& failure);

/// The best `best_by` of the run's metrics.csv at its final input size; for an exit code other than 0 the last line of its log.
TrialOutcome outcome_of(const std::filesystem::path& run, int exit_code, const std::filesystem::path& log,
                        BestBy best_by);

/// The `--device` of each of several trials that run side by side. On GPUs each has its own; on the CPU they
/// share the threads. Throws InputError for a single GPU by number, and DeviceError when there are fewer GPUs.
std::vector<std::string> devices_of_jobs(const std::string& device, int jobs,
                                         const cuda::Installation& installation);

}  // namespace brightnet
