// Prepares a requested run for training: configuration, device, data, anchors, model, micro-batch, initial
// parameters and the run's folder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/distributed/communicator.h"
#include "train/run/run_lock.h"
#include "train/setup/resume.h"

namespace brightnet {

/// The parts of a run. Every rank reads all of them.
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

/// Prepares the run on this rank's `device`. Throws InputError and DeviceError.
Preparation prepare(const RunRequest& request, const std::string& device, const Communicator& ranks);

/// Throws a SharedError unless all ranks read the same configuration, data and weights. Sets the micro-batch
/// to the smallest of all ranks.
void compare_ranks(Communicator& ranks, Preparation& run);

/// The run's folder. For a new run, rank 0 creates and locks it and writes the configuration and model.
RunFolder open_folder(const RunRequest& request, Preparation& run, Communicator& ranks);

}  // namespace brightnet
