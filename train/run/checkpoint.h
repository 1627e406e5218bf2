// What a run needs to go on exactly as if it had never stopped: raw weights, average, optimizer, and how far
// it is. Everything is in one file that is replaced as a whole, so that whenever the machine dies the folder
// holds one complete state. Random numbers need no saving: epoch and sample determine them (core/random.h).
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
#include "train/run/progress.h"

namespace brightnet {

/// A state without its arrays.
struct RunState {
  Progress progress;
  /// describe_layout() of the model; must be the same when the state is read.
  std::string layout;
  /// That the arithmetic used.
  int threads = 0;
  /// Of the best evaluation; without its curves and confusion matrix.
  std::optional<Metrics> best;
  /// Of the data; none in states of earlier versions.
  std::optional<SplitFingerprint> train, val;
};

/// Writes the arrays and the rest atomically, with a checksum (core/hash.h) over all of it.
void save_state(const std::filesystem::path& file, const RunState& state,
                const std::vector<StateArray>& arrays, Backend& backend);

/// Fills the arrays. Throws InputError when the file is broken, does not match its checksum (those of earlier
/// versions have none), or belongs to another model or optimizer.
RunState load_state(const std::filesystem::path& file, const std::vector<StateArray>& arrays,
                    const std::string& layout, Backend& backend);

/// A fingerprint of the names, shapes and offsets of a model's parameters.
std::string describe_layout(const ParameterLayout& layout);

}  // namespace brightnet
