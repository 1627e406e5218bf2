// The inputs of a run.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "data/dataset.h"
#include "kernels/backend.h"
#include "layers/model/model.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/run/output_files.h"
#include "train/run/run_folder.h"

namespace brightnet {

/// Everything outlives the trainer. train.micro_batch is resolved to a number, and train.batch is a multiple
/// of it times the number of ranks. Equal on all ranks, which draw different samples; only rank 0 writes into
/// the folder.
struct TrainingSetup {
  const RunConfig& config;
  const Model& model;
  const Dataset& train;
  const Dataset& val;
  Backend& backend;
  const RunFolder& folder;
  Communicator& communicator = Communicator::solo();
  /// For tensors in the backend's memory.
  DeviceCollectives& collectives = communicator.host_collectives();
  /// Seconds of the clock by which the run is paced.
  std::function<double()> now = seconds_now;
  /// Bytes that are free on the disk of this file.
  std::function<std::optional<uint64_t>(const std::filesystem::path&)> free_space = free_bytes;
  /// For the report: a key, its value and why, of every value that was chosen automatically.
  std::vector<std::vector<std::string>> choices = {};
  /// What `train` was cut from (data.tiles): evaluations merge the tiles of a picture.
  const Dataset& train_pictures = train;
};

}  // namespace brightnet
