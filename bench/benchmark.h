// The speed of a training step, and its limit: the same network's bare convolutions, back to back, in the
// same run. Clock rates drift, so rounds of the two alternate and medians are reported; compare only ratios
// measured in one run.
#pragma once

#include <string>
#include <vector>

#include "layers/network.h"
#include "train/config/config.h"

namespace brightnet {

struct StepBenchmarkOptions {
  int batch = 8;
  InputSize size = 416;
  Precision precision = Precision::fp32;
  double seconds = 8;  ///< measuring time after the warm-up
  int min_rounds = 7;
  bool steps_only = false;  ///< skip the bare convolutions and the layers, which take memory and time
};

/// The time of one layer in seconds for the whole batch: medians, in inference the quickest pass.
struct LayerBenchmark {
  std::string name, kind;
  Shape output{};
  double forward = 0, backward = 0;
  double floor = 0;  ///< seconds of its bare convolution, forward and both backward passes; 0: it has none
  double flops = 0;  ///< multiplications and additions of its convolution in one forward pass
  size_t gradient_bytes = 0;  ///< bytes of its gradients, which the ranks all-reduce
  std::string implementation{};
};

struct StepBenchmark {
  std::string device;
  Precision precision = Precision::fp32;
  int batch = 0, threads = 0, rounds = 0;
  InputSize size;
  bool recompute = false;  ///< whether the backward pass recomputes activations
  /// The seconds of a step and of its parts; forward includes refreshing the working weights. Each part ends
  /// with a synchronization. The step is their sum on a synchronous device; on an asynchronous one it is the
  /// time per step when steps are launched as in training, replayed from a graph without synchronization.
  double step = 0, forward = 0, backward = 0, update = 0;
  double floor = 0;       ///< seconds of all bare convolutions
  double flops = 0;       ///< multiplications and additions of the convolutions' passes, two or three each
  size_t peak_bytes = 0;  ///< bytes of device memory that the step needs
  std::vector<LayerBenchmark> layers;

  double images_per_second() const { return batch / step; }
  double floor_ratio() const { return step > 0 ? floor / step : 0; }
};

double median(std::vector<double> values);

/// Measures whole training steps (forward, loss, backward, update) on synthetic pixels and boxes. `config`
/// selects the optimizer, the weight average and what is recomputed.
StepBenchmark measure_step(const RunConfig& config, const Model& model, Backend& backend,
                           const StepBenchmarkOptions& options);

}  // namespace brightnet
