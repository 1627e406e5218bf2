// The request of `brightnet train`.
#pragma once

#include <optional>
#include <string>

#include "train/config/config.h"

namespace brightnet {

struct RunRequest {
  std::string config;  ///< CONFIG.yaml or X.cfg; empty: what the overrides say
  Overrides overrides;
  std::string weights, weights_cfg;  ///< files to start from; empty: what the configuration says
  bool weights_partial = false;
  bool resuming = false;
  std::string resume;        ///< the run's folder; empty: the run of `config` that was saved last
  bool begin_again = false;  ///< the run in `resume`, which ended before its first save
  std::string out;           ///< folder of a new run; empty: runs/NAME
  /// The meaning of `config` and `overrides`, where they have been read: a .cfg is imported once.
  std::optional<RunConfig> loaded{};
};

/// The configuration of a new run with the request's overrides. Published weights that it names are
/// fetched. Throws InputError.
RunConfig requested_config(const RunRequest& request);

/// Throws InputError for what `train` refuses in a configuration before it has read the data: the model and
/// its input sizes, frozen layers, the batch, weights of other programs, and, where data.root is there, paths
/// below it that are not.
void check_config(const RunConfig& config);

}  // namespace brightnet
