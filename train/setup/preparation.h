// Prepares a requested run for training: configuration, device, data, anchors, model, micro-batch, initial
// parameters and the run's folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "brightnet/ranks.h"
#include "kernels/device/device.h"
#include "train/distributed/communicator.h"
#include "train/run/run_folder.h"
#include "train/setup/automatic.h"
#include "train/setup/automatic_anchors.h"
#include "train/setup/automatic_facts.h"
#include "train/setup/resume.h"
#include "train/setup/resumed_ranks.h"

namespace brightnet {

/// The rank's device; `device` returns it as given. Throws InputError, on all ranks, for a word that is none.
RankDevice common_device(Communicator& ranks, const std::function<std::string()>& device);

/// The device of a rank that a launcher started: each takes its own of several GPUs. Also throws when the
/// number of ranks is not the expected one.
RankDevice common_device(const Ranks& ranks, const std::string& device);

/// The parts of a run. Every rank reads all of them.
struct Preparation {
  std::optional<OpenRun> old;
  RanksBefore before = {};  ///< of `old`
  bool continues = false;   ///< the run was there before, also if it begins again
  RunConfig config;
  std::unique_ptr<Backend> backend;
  Dataset training, validation;
  Dataset pictures;  ///< images that the training images were cut from (data.tiles), if they were
  Model model;
  /// The run's folder has the model as it was read, batch-norm included (train.quantize).
  std::string model_yaml;
  ParameterLayout model_layout;
  std::unique_ptr<ParameterLayout> layout;  ///< layout of trained_model(), which has adapters with a teacher
  std::vector<float> initial;               ///< initial parameters in the order of `layout`
  std::vector<Choice> choices;              ///< the automatic values, as they were chosen
  AnchorFit anchors;                        ///< fit to the training split; no heads where it has no boxes

  const Dataset& training_pictures() const { return config.data.tiles ? pictures : training; }
};

/// How a GPU chooses the run's convolutions: timing them takes at most a tenth of its minutes.
EngineChoice engine_choice(const TrainOptions& train);

/// Prepares the run on this rank's device, all but its micro-batch: a new one, or that in the folder that a RunPlace has
/// found. Throws InputError and DeviceError.
Preparation prepare(const RunRequest& request, const RankDevice& device, const Communicator& ranks);

/// Chooses the micro-batch, after prepare(), by the memory that is free now, or checks the one that was
/// given: when everything else has taken its memory of the device. With train.sync_bn a run that is resumed by another
/// number of ranks keeps the number of images that batch-norm computes its statistics from. Throws DeviceError.
void fit_into_memory(Preparation& run, const Communicator& ranks);

/// Throws a SharedError unless all ranks read the same configuration, data and weights. Sets the micro-batch
/// to the smallest of all ranks.
void compare_ranks(Communicator& ranks, Preparation& run);

/// Writes the configuration and the model of a run that begins into its folder; of a run that goes on, the
/// configuration if it was changed, so that the run goes on with these values from then on.
/// Rank 0 writes; all ranks call it.
void write_description(const RunFolder& folder, const Preparation& run, Communicator& ranks);

}  // namespace brightnet
