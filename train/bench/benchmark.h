// How fast a training step is, and how fast it could be: the same network's bare convolutions, back to back,
// in the same run. Machines drift, so rounds of the two alternate and medians are reported; only ratios of
// one run mean anything.
#pragma once

#include <string>
#include <vector>

#include "layers/network.h"
#include "train/config/config.h"

namespace brightnet {

struct StepBenchmarkOptions {
  int batch = 8, size = 416;
  Precision precision = Precision::fp32;
  double seconds = 8;  ///< of measuring, after the warm-up
  int min_rounds = 7;
  bool steps_only = false;  ///< without the bare convolutions and the layers, which take memory and time
};

/// Medians, in seconds for the whole batch.
struct LayerBenchmark {
  std::string name, kind;
  Shape output{};
  double forward = 0, backward = 0;
  double floor = 0;  ///< of its bare convolution: forward and both backward passes; 0 where there is none
  double flops = 0;  ///< of one forward pass
  size_t gradient_bytes = 0;  ///< what ranks sum
  std::string implementation{};
};

struct StepBenchmark {
  std::string device;
  Precision precision = Precision::fp32;
  int batch = 0, size = 0, threads = 0, rounds = 0;
  /// Seconds; forward refreshes the working weights. The parts wait for the device, each by itself; the step
  /// is their sum where operations are done at once, and else the time from step to step when steps are
  /// queued one after the other as in training, captured in a graph and without a wait.
  double step = 0, forward = 0, backward = 0, update = 0;
  double floor = 0;       ///< seconds of all bare convolutions
  double flops = 0;       ///< of the step's convolutions, all three passes
  size_t peak_bytes = 0;  ///< of device memory that the step needs
  std::vector<LayerBenchmark> layers;

  double images_per_second() const { return batch / step; }
  double floor_ratio() const { return step > 0 ? floor / step : 0; }
};

/// Measures whole training steps (forward, loss, backward, update) on synthetic pixels and boxes. `config`
/// says what optimizer and average an update consists of.
StepBenchmark measure_step(const RunConfig& config, const Model& model, Backend& backend,
                           const StepBenchmarkOptions& options);

}  // namespace brightnet
