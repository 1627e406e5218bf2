// The saved state from which a run resumes exactly as if it had never stopped: weights, average, optimizer
// and progress. It is one file, replaced atomically, so the folder holds one complete state even if the
// machine dies. Random numbers need no saving: epoch and sample determine them (core/random.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "detect/evaluate/metrics.h"
#include "kernels/backend.h"
#include "layers/model/quantization.h"
#include "train/optimizer/optimizer.h"
#include "train/run/data_fingerprint.h"
#include "train/run/progress.h"

namespace brightnet {

/// A state without its arrays.
struct RunState {
  Progress progress;
  /// describe_layout() of the model; must match when the state is loaded.
  std::string layout;
  /// Number of CPU threads, which determines how sums round.
  int threads = 0;
  /// Metrics of the best evaluation, without curves and confusion matrix.
  std::optional<Metrics> best;
  /// Fingerprints of the data; none in states of earlier versions.
  std::optional<SplitFingerprint> train, val;
  Quantization quantization = {};  ///< quantization of the model, which a run with train.quantize trains by
  /// Number of ranks, and images of one pass of each; 0 in states of earlier versions.
  int ranks = 0, micro_batch = 0;
};

/// Writes state and arrays atomically, with a checksum (core/hash.h) over all of it.
void save_state(const std::filesystem::path& file, const RunState& state,
                const std::vector<StateArray>& arrays, Backend& backend);

/// Loads into the arrays. Throws InputError when the file is broken, does not match its checksum (files of
/// earlier versions have none), or belongs to another model or optimizer.
RunState load_state(const std::filesystem::path& file, const std::vector<StateArray>& arrays,
                    const std::string& layout, Backend& backend);

/// Reads a state without loading or checking its arrays. Throws InputError when the file is broken.
RunState read_state(const std::filesystem::path& file);

/// A fingerprint of the names, shapes and offsets of a model's parameters.
std::string describe_layout(const ParameterLayout& layout);

}  // namespace brightnet
