// The space that a run's files need on disk.
#pragma once

#include <cstdint>
#include <string>

#include "train/run/run_folder.h"

namespace brightnet {

struct DiskNeeds {
  /// Bytes of the saved state, and of one weights file or kept set of parameters.
  uint64_t state = 0, weights = 0;
  /// Number of weights files and kept sets: best, last, averaged, those kept for the average, and snapshots.
  int weights_files = 0;
  /// The numbers of the run's epochs and evaluations, with an upper bound for the events: a row of numbers an epoch, and a
  /// picture an evaluation.
  int64_t epochs = 0, evaluations = 0;

  uint64_t events() const;
  /// The state counts twice: a new one is written beside the old one.
  uint64_t total() const;
};

/// A paragraph that says what is missing; empty when it fits into the free bytes. `present`: what the files
/// already take.
std::string describe_shortage(const DiskNeeds& needs, uint64_t present, uint64_t free,
                              const std::string& folder);

/// Bytes of the files in the folder and the folders below.
uint64_t bytes_in(const std::filesystem::path& folder);

}  // namespace brightnet
