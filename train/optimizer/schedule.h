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

/// The `schedule:` section: the learning rate over the run.
struct ScheduleOptions {
  /// How the rate decays after the warm-up.
  ScheduleKind kind = ScheduleKind::cosine;
  /// Unit of warmup and steps.
  ScheduleUnit unit = ScheduleUnit::epochs;
  /// Length of the warm-up.
  Auto<float> warmup;
  /// In the warm-up: rate · (t / warmup)^power.
  float power = 4.0f;
  /// cosine and linear end at this fraction of the rate.
  float final = 0.01f;
  /// Where the rate drops; empty: at 80 % and 90 % of the run.
  std::vector<float> steps;
  /// Factors of the rate there; empty: 0.1 each.
  std::vector<float> scales;
  void fields(Fields& f);
};

class Schedule {
 public:
  /// `total` optimizer steps in all. A warm-up longer than the run is cut to its length.
  Schedule(const ScheduleOptions& options, float rate, int64_t iterations_per_epoch, int64_t total);

  /// The rate of optimizer step `iteration`, counted from 0. In the warm-up (darknet's burn-in, but above 0
  /// from the first step):
  ///   rate · ((iteration + 1) / warmup)^power
  /// After it, with u from 0 at its end to 1 at the run's end:
  ///   cosine    rate · (final + (1 − final) · (1 + cos πu) / 2)   (Loshchilov & Hutter 2017)
  ///   linear    rate · (1 − (1 − final) · u)
  ///   steps     rate · Π scales of the steps reached
  ///   constant  rate
  float rate(int64_t iteration) const;

  int64_t warmup() const { return warmup_; }

 private:
  ScheduleOptions options_;
  float rate_;
  int64_t total_, warmup_;
  std::vector<int64_t> steps_;
};

}  // namespace brightnet
