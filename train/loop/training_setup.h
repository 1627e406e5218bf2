// What a run works on.
#pragma once

#include "data/dataset.h"
#include "kernels/backend.h"
#include "layers/model/model.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/run/run_folder.h"

namespace brightnet {

/// Everything outlives the trainer. train.micro_batch is a number by now, and train.batch a multiple of it
/// times the number of ranks. All ranks have the same, but for the data that they draw; rank 0 alone writes
/// into the folder.
struct TrainingSetup {
  const RunConfig& config;
  const Model& model;
  const Dataset& train;
  const Dataset& val;
  Backend& backend;
  const RunFolder& folder;
  Communicator& communicator = Communicator::solo();
  /// For tensors of the backend.
  DeviceCollectives& collectives = communicator.host_collectives();
};

}  // namespace brightnet
