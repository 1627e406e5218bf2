// The learning rate over a run: a burn-in, then a policy.
#pragma once

#include <cstdint>
#include <vector>

#include "train/config/config.h"

namespace brightnet {

class Schedule {
 public:
  /// `total` optimizer steps in all. A burn-in longer than the run is cut to its length.
  Schedule(const ScheduleOptions& options, float rate, int64_t iterations_per_epoch, int64_t total);

  /// The rate of optimizer step `iteration`, counted from 0.
  ///   burn-in:  rate · ((iteration + 1) / warmup)^power               (darknet's, from its first step above
  ///   0) then, with u from 0 behind the burn-in to 1 at the run's end: cosine:   rate · (final + (1 − final)
  ///   · (1 + cos πu) / 2)        (Loshchilov & Hutter 2017) linear:   rate · (1 − (1 − final) · u) steps:
  ///   rate · Π scales of the steps reached
  float rate(int64_t iteration) const;

  int64_t warmup() const { return warmup_; }

 private:
  ScheduleOptions options_;
  float rate_;
  int64_t total_, warmup_;
  std::vector<int64_t> steps_;
};

}  // namespace brightnet
