// What a run needs to go on exactly as if it had never stopped: raw weights, average, optimizer, and its
// place. Everything is in one file that is replaced as a whole, so that whenever the machine dies the folder
// holds one complete state. Random numbers need no saving: they are named by epoch and sample
// (core/random.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "train/evaluate/metrics.h"
#include "train/optimizer/optimizer.h"
#include "train/run/data_fingerprint.h"

namespace brightnet {

/// What the part of an epoch that is done took.
struct EpochSums {
  double images = 0, seconds = 0, waited = 0;
  double comm_waited = 0;  ///< seconds that the computation stood still for other ranks
  double busy = 0;         ///< seconds of the device's work
};

/// Where a run is.
struct Progress {
  uint64_t epoch = 0;      ///< that is being trained, from 0
  uint64_t step = 0;       ///< optimizer steps of it that are done
  int64_t iteration = 0;   ///< optimizer steps of the run, skipped ones included
  double best_score = -1;  ///< of an evaluation so far; −1: there was none
  int best_epoch = 0;      ///< from 1
  int evaluations_since_best = 0;
  int64_t planned = 0;  ///< optimizer steps of the whole run, once a limit of time has fixed them; 0: not yet
  EpochSums sums;
  StepState
      state;  ///< the device's, as the host last saw it: loss sums, loss scale, steps applied and skipped
};

/// What a state is beside its arrays.
struct RunState {
  Progress progress;
  std::string layout;           ///< describe_layout() of the model; must be the same when the state is read
  int threads = 0;              ///< that the arithmetic used
  std::optional<Metrics> best;  ///< of the best evaluation; without its curves and confusion matrix
  std::optional<SplitFingerprint> train, val;  ///< of the data; none in states of earlier versions
};

/// Writes the arrays and the rest atomically, with a checksum (core/hash.h) over all of it.
void save_state(const std::filesystem::path& file, const RunState& state,
                const std::vector<StateArray>& arrays, Backend& backend);

/// Fills the arrays. Throws InputError when the file is broken, does not match its checksum (those of earlier
/// versions have none), or belongs to another model or optimizer.
RunState load_state(const std::filesystem::path& file, const std::vector<StateArray>& arrays,
                    const std::string& layout, Backend& backend);

/// A fingerprint of the names, shapes and places of a model's parameters.
std::string describe_layout(const ParameterLayout& layout);

}  // namespace brightnet
