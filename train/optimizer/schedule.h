// The learning rate over a run: a warm-up, then a decay.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace brightnet {

enum class ScheduleKind : uint8_t { cosine, steps, linear, constant };
constexpr std::string_view enum_name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::cosine: return "cosine";
    case ScheduleKind::steps: return "steps";
    case ScheduleKind::linear: return "linear";
    case ScheduleKind::constant: return "constant";
  }
  return {};
}

enum class ScheduleUnit : uint8_t { epochs, iterations };
constexpr std::string_view enum_name(ScheduleUnit unit) {
  switch (unit) {
    case ScheduleUnit::epochs: return "epochs";
    case ScheduleUnit::iterations: return "iterations";
  }
  return {};
}

constexpr bool counts_epochs(ScheduleUnit unit) {
  switch (unit) {
    case ScheduleUnit::epochs: return true;
    case ScheduleUnit::iterations: return false;
  }
  return false;
}

/// The `schedule:` section: the learning rate over the run.
struct ScheduleOptions {
  /// How the rate decays after the warm-up.
  ScheduleKind kind = ScheduleKind::cosine;
  /// Unit of warmup and steps.
  ScheduleUnit unit = ScheduleUnit::epochs;
  /// Length of the warm-up.
  Auto<float> warmup;
  /// The rate in the warm-up is rate · (t / warmup)^power.
  Auto<float> power;
  /// cosine and linear end at this fraction of the rate.
  float final = 0.01f;
  /// The parts of the run at which the rate drops; empty: at 80 % and 90 % of the run.
  std::vector<float> steps;
  /// Factors of the rate at these parts of the run; empty: 0.1 each.
  std::vector<float> scales;
  void fields(Fields& f);

  /// A value of warmup or steps in optimizer steps.
  int64_t in_steps(float value, int64_t steps_per_epoch) const;
};

class Schedule {
 public:
  /// `total` optimizer steps in all. A warm-up longer than the run is cut to its length.
  Schedule(const ScheduleOptions& options, float rate, int64_t iterations_per_epoch, int64_t total);

  /// Says that from optimizer step `iteration` on the run has `total` steps, of which the warm-up takes at most this
  /// fraction. What is left of the warm-up or of the decay is spread over the steps that are left for it. Where the
  /// decay is ahead of that of a run of `total` steps, because a shorter one was planned, it goes back to it: a
  /// machine that was slow for a while must not spend the rest of the run at its final rate. Drops that have been
  /// reached stay.
  void change_total(int64_t iteration, int64_t total, double warmup_limit = 1);

  /// The rate of optimizer step `iteration`, counted from 0. In the warm-up (darknet's burn-in, but above 0
  /// from the first step):
  ///   rate · ((iteration + 1) / warmup)^power
  /// After it, with u from 0 at its end to 1 at the run's end, piecewise linear where the total has changed:
  ///   cosine    rate · (final + (1 − final) · (1 + cos πu) / 2)   (Loshchilov & Hutter 2017)
  ///   linear    rate · (1 − (1 − final) · u)
  ///   steps     rate · Π scales of the steps reached
  ///   constant  rate
  float rate(int64_t iteration) const;

  /// Steps of the warm-up.
  int64_t warmup() const { return warmup_end_; }

 private:
  /// A value that grows linearly from `value` before step `from`.
  struct Ramp {
    int64_t from = 0;
    double value = 0;
  };
  /// The part of the warm-up, and of the decay after it, that is done before this step; from 0 to 1.
  double warmed(int64_t iteration) const;
  double decayed(int64_t iteration) const;
  int64_t drop_of(double fraction) const;

  ScheduleOptions options_;
  float rate_;
  int64_t total_;
  /// Steps of the whole warm-up as configured, and of one at its current speed; the step at which it ends.
  int64_t longest_warmup_, warmup_length_, warmup_end_;
  Ramp warmup_, decay_;
  /// The steps at which the rate drops.
  std::vector<int64_t> steps_;
};

}  // namespace brightnet
