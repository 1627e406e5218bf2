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

/// What a card reaches in practice, in bytes and in multiplications and additions a second.
struct Card {
  std::string name;
  double bytes_per_s = 0, flops_per_s = 0;
  int multiprocessors = 0;
};

/// "h200", "rtx4090", "t4", or "TB/s,TFLOP/s" with the card's own. Throws InputError for anything else.
Card parse_card(const std::string& text, Precision precision);

/// Sums of launches, over both passes.
struct WorkTraffic {
  double own_bytes = 0;          ///< of our kernels
  double convolution_bytes = 0;  ///< inputs, outputs and weights of every pass, once each
  double flops = 0;              ///< of convolutions
  int launches = 0;
  double ceiling_s = 0;  ///< each launch at the card's ceilings, one after the other
};

struct LayerTraffic {
  std::string name, kind;
  Shape output{};
  WorkTraffic work;
};

struct StepTraffic {
  std::vector<LayerTraffic> layers;  ///< the last one is the input and the optimizer's step
  WorkTraffic total;
  double unfused_own_bytes = 0;  ///< of our kernels if cuDNN's fusions are not taken
  /// The same by the source file that launches, which shows where the bytes are.
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
