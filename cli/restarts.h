// `train --restarts R`: a run whose processes died is started again from its last saved state.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace brightnet::cli {

/// The command that goes on with a run which is stopped, on as many ranks of this machine.
std::string resume_command(const std::string& folder, int ranks);

/// How the processes of a run ended.
struct ProcessesEnd {
  int code = 0;             ///< their exit code; 128 plus the signal's number when a signal ended them
  bool asked = false;       ///< the user asked them to stop
  std::string folder = {};  ///< the run's folder; empty: the processes did not get that far
  bool made_steps = false;
};

/// The actions that supervise() decides on and leaves to its caller.
struct SupervisedRun {
  /// Starts the ranks, which resume the run in `folder` or, where that is empty, begin; waits for their end.
  std::function<ProcessesEnd(int ranks, const std::string& folder)> start;
  /// How many ranks this machine can still start, at most as many as before; 0: none. Nothing if the user asked to stop
  /// meanwhile.
  std::function<std::optional<int>(int ranks)> ranks_that_work;
  /// Waits for this long; returns false if the user asked to stop since ranks_that_work() began.
  std::function<bool(int seconds)> wait;
};

/// Runs until the run ends well, is stopped, fails by the user's mistake, has failed more than `restarts` times, or fails
/// twice without a step in between; returns its last exit code.
int supervise(int restarts, int ranks, const SupervisedRun& run);

/// The ranks and GPUs that a run goes on with when only some GPUs still work.
struct GpusLeft {
  int most_ranks = 0;             ///< most ranks that the run can have; 0: none
  std::vector<int> visible = {};  ///< the only GPUs to be seen from now on; empty: those seen so far
};

/// Returns what a run on `device` goes on with. `working`: of `count` GPUs, the indices of those that work. A
/// run on `cuda:N` goes on with that one or not at all, and its number must go on meaning it.
GpusLeft gpus_left(const std::string& device, int count, const std::vector<int>& working);

/// CUDA_VISIBLE_DEVICES with which only some of the GPUs are seen. `visible`: what it is now, empty when it is not set;
/// `working`: indices into the GPUs that are seen now.
std::string visible_devices(const std::string& visible, const std::vector<int>& working);

}  // namespace brightnet::cli
