// From what was asked for to a run that is ready to train: configuration, device, data, anchors, model,
// micro-batch and starting parameters, and the folder that it writes into.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/distributed/communicator.h"
#include "train/run/run_lock.h"
#include "train/setup/resume.h"

namespace brightnet {

/// What a run is made of. Every rank reads all of it.
struct Preparation {
  std::optional<OpenRun> old;
  std::unique_ptr<RunLock> lock;  ///< on rank 0, once there is a folder
  RunConfig config;
  std::unique_ptr<Backend> backend;
  Dataset training, validation;
  Model model;
  std::unique_ptr<ParameterLayout> layout;
  std::vector<float> initial;
};

/// Reads and makes all of it, on this rank's `device`. Throws InputError and DeviceError.
Preparation prepare(const RunRequest& request, const std::string& device, const Communicator& ranks);

/// Ranks read their own copies of everything: throws a SharedError unless these are copies of the same. The
/// micro-batch becomes what fits on every rank.
void compare_ranks(Communicator& ranks, Preparation& run);

/// The run's folder. Rank 0 makes and locks that of a new run, writes its description, and logs into it.
RunFolder open_folder(const RunRequest& request, Preparation& run, Communicator& ranks);

}  // namespace brightnet
