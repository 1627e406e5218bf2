// What a training step moves and computes on a GPU, and the time that a card's ceilings leave for it (the
// roofline, Williams et al. 2009). Counted from the launches of a step, none of which runs: no GPU is needed.
#pragma once

#include <string>
#include <vector>

#include "brightnet/benchmark.h"
#include "core/dtype.h"
#include "core/tensor.h"
#include "layers/model/model.h"
#include "train/config/config.h"

namespace brightnet {

/// The throughput that a card reaches in practice, in bytes and in multiplications and additions a second.
struct Card {
  std::string name;
  double bytes_per_s = 0, flops_per_s = 0;
  int multiprocessors = 0;
};

/// Reads a card: "h200", "rtx4090", "t4", or its own "TB/s,TFLOP/s". Throws InputError for anything else.
Card parse_card(const std::string& text, Precision precision);

/// Sums of launches, over both passes.
struct WorkTraffic {
  double own_bytes = 0;          ///< bytes that brightnet's own kernels read and write
  double convolution_bytes = 0;  ///< bytes of convolutions: inputs, outputs, weights of every pass, once each
  double flops = 0;              ///< multiplications and additions of convolutions
  int launches = 0;
  double ceiling_s = 0;  ///< seconds of all launches at the card's ceilings, one after the other
};

struct LayerTraffic {
  std::string name, kind;
  Shape output{};
  WorkTraffic work;
};

struct StepTraffic {
  std::vector<LayerTraffic> layers;  ///< the last one is the input and the optimizer's step
  WorkTraffic total;
  double unfused_own_bytes = 0;  ///< own_bytes of the whole step if cuDNN's fusions are not taken
  /// The step's work by the source file that launches it, which shows where the bytes are.
  std::vector<LayerTraffic> kernels;
};

struct TrafficOptions {
  int batch = 64;
  InputSize size = 608;
  Precision precision = Precision::fp16;
  Card card;
};

/// Counts one step of a run on one GPU whose batch is one micro-batch: it refreshes working weights, computes loss and
/// gradients, and updates. `config` selects the optimizer and the weight average. Throws DeviceError in a build without
/// CUDA.
StepTraffic count_traffic(const RunConfig& config, const Model& model, const TrafficOptions& options);

}  // namespace brightnet
