// Which run `train --resume` continues, and what must not change in it.
#pragma once

#include <optional>
#include <string>

#include "train/run/run_folder.h"
#include "train/setup/run_request.h"

namespace brightnet {

/// A run that is resumed. It keeps the configuration that it began with.
struct OpenRun {
  RunConfig config;  ///< its own, with the command line's values over it
  RunFolder folder;
  std::optional<RunConfig> asked;  ///< the one that the command line names, if it does
};

/// The run to continue: the folder named, else the newest run of this configuration. Throws InputError for
/// values that would make another run of it, and for options that contradict resuming.
OpenRun open_old_run(const RunRequest& request);

/// In what the configuration that was named differs from the one that the run keeps, key by key, and whether
/// their models do; empty when they agree. What a run resolves by itself (micro_batch: auto, anchors: auto)
/// and where it found its model and weights is no difference. `model` is the run's.
std::string describe_differences(const OpenRun& run, const std::string& asked_file, const Model& model);

}  // namespace brightnet
