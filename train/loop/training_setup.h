// The inputs of a run.
#pragma once

#include <functional>
#include <vector>

#include "core/clock.h"
#include "data/dataset.h"
#include "kernels/backend.h"
#include "layers/model/model.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/loop/training_observer.h"
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
  /// Writes the files of the folder.
  OutputFiles& files;
  Communicator& communicator = Communicator::solo();
  /// Exchanges tensors in the backend's memory.
  DeviceCollectives& collectives = communicator.host_collectives();
  /// Seconds of the clock by which the run is paced.
  std::function<double()> now = seconds_now;
  /// Told what happens, in this order (train/loop/training_observer.h).
  std::vector<TrainingObserver*> observers = {};
  /// What the images of `train` are tiles of (data.tiles); null: they are whole.
  const Dataset* pictures = nullptr;

  const Dataset& training_pictures() const { return pictures ? *pictures : train; }
};

}  // namespace brightnet
