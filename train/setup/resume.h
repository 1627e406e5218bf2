// Which run `train --resume` continues, and what must not change in it.
#pragma once

#include <optional>
#include <string>

#include "train/run/run_folder.h"
#include "train/setup/request.h"

namespace brightnet {

/// A run that is resumed. It keeps the configuration that it began with.
struct OpenRun {
  RunConfig config;  ///< the run's own, with the command line's overrides
  /// Whether the overrides change the configuration in the folder.
  bool changed = false;
  /// Whether they give the run another length (train.epochs, iterations or minutes).
  bool new_length = false;
  /// Whether they set train.micro_batch, which otherwise may follow the number of ranks.
  bool sets_micro_batch = false;
  /// Whether they set loader.cache_mb.
  bool sets_cache = false;
  RunFolder folder;
  std::optional<RunConfig> asked;  ///< the configuration named on the command line, if any
};

/// A request to resume with the run's folder in it: the named one, otherwise of this configuration's runs,
/// wherever --out has put them, the one that was saved last. A run without a state is to be begun again. Any
/// other request is returned as it is. Looks at the disk: one rank decides. Throws InputError for options
/// that contradict resuming.
RunRequest with_run_found(const RunRequest& request);

/// The run in the folder of a request that with_run_found() returned. Throws InputError for values that must
/// not change within a run.
OpenRun open_old_run(const RunRequest& request);
/// The configuration of a run that is begun again, with its initial weights. Throws as open_old_run() does.
RunConfig config_of_begun_run(const RunRequest& request);
/// Keeps with a new run what config_of_begun_run() needs beside its configuration.
void write_start(const RunFolder& folder, const TrainOptions& train);

/// Fits the warm-up of a run that goes on to its length, where that is another than the run in the folder had: the run keeps
/// it, in its config.yaml. `config` has all of its values; `images`: of the training split. Returns whether the length is
/// another that leaves steps to do.
bool fit_warmup(const RunRequest& request, int64_t images, RunConfig& config, bool says);

/// The differences between the named configuration and the run's own, key by key, and whether their models
/// differ; empty when they agree. Ignores values that are automatic in the named one, since the run has chosen
/// them, and the paths of the model and weights. `model` is the run's.
std::string describe_differences(const OpenRun& run, const std::string& asked_file, const Model& model);

}  // namespace brightnet
