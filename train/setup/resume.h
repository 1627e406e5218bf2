// Which run `train --resume` continues, and what must not change in it.
#pragma once

#include <optional>
#include <string>

#include "train/run/run_folder.h"
#include "train/setup/run_request.h"

namespace brightnet {

/// A run that is resumed. It keeps the configuration that it began with.
struct OpenRun {
  RunConfig config;  ///< its own, with the command line's overrides
  RunFolder folder;
  std::optional<RunConfig> asked;  ///< the one named on the command line, if any
};

/// The run to resume: the named folder, otherwise the newest run of this configuration. Throws InputError for
/// values that must not change within a run, and for options that contradict resuming.
OpenRun open_old_run(const RunRequest& request);

/// The differences between the named configuration and the run's own, key by key, and whether their models
/// differ; empty when they agree. Ignores values that are automatic in the named one, since the run has chosen
/// them, and the paths of the model and weights. `model` is the run's.
std::string describe_differences(const OpenRun& run, const std::string& asked_file, const Model& model);

}  // namespace brightnet
