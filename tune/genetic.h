// The genetic search for hyper-parameters (YOLOv4: Bochkovskiy et al. 2020, §4.2): every trial is the child of
// one of the best trials so far, with some of its values changed at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tune/tuned_keys.h"

namespace brightnet {

/// A finished trial.
struct ScoredTrial {
  int number = 0;
  std::vector<double> values;  ///< one value for each key
  double score = 0;            ///< higher is better; 0: the trial has found nothing, or failed
};

/// The values of a trial, and the trial from which they were changed.
struct Proposal {
  std::vector<double> values;
  int parent = -1;  ///< number of that trial; −1: the configuration
};

/// The values of trial `number`. Trial 0 is the configuration itself. Each later one takes a parent among the
/// five best of `finished` whose score is above 0, or the configuration where there is none: a trial is drawn
/// in proportion to score − worst + (best − worst) / count, over these five. Then it changes each value with
/// probability 0.6, at least one, as the key's kind says, and keeps it within the key's range. Depends on the
/// arguments alone, whatever the order of `finished`.
Proposal propose(const std::vector<TunedKey>& keys, const std::vector<double>& configured,
                 std::span<const ScoredTrial> finished, uint64_t seed, int number);

}  // namespace brightnet
