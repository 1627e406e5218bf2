// The speed of a training step, of single operations and of the loader. On a shared machine only ratios within one call are
// meaningful. Each answer also has what was measured on (docs/json.md). All throw InputError for options out of their ranges.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/public.h"

namespace brightnet {

struct BenchmarkOptions {
  std::string model = {};  ///< a name, or the YAML of a model or of a run; for inference also weights
  std::string data = {};   ///< what the loader reads: as Configuration::data, or a run's YAML
  std::vector<std::string> settings = {};
  std::string device = "auto";  ///< as DeviceOptions::device
  std::string precision = {};   ///< one or more, separated by commas; empty: the usual one
  int batch = 0;                ///< images per step; 0: the usual number
  int height = 0, width = 0;    ///< of the network's input, in pixels; 0: the configuration's
  int classes = 0;              ///< number of classes; 0: the file's
  int workers = 1;              ///< threads of the loader
  double seconds = 8;           ///< measuring time for each precision
  bool steps_only = false;      ///< leaves out the bare convolutions and the single layers
  bool recompute = false;       ///< measures the step with train.recompute: activations
  std::string card = "h200";    ///< one of card_names(), or TB/s and TFLOP/s: "1.5,200"
  /// Called with each part of the text when it is known.
  std::function<void(const std::string& text)> measured = {};
};

/// Measures a training step, as a whole relative to its bare convolutions, and layer by layer.
BRIGHTNET_PUBLIC Answer benchmark_step(const BenchmarkOptions& options);
/// Measures inference by the network alone, from the pixels of a batch to its predictions, and layer by layer.
BRIGHTNET_PUBLIC Answer benchmark_inference(const BenchmarkOptions& options);
/// The bandwidth of all other operations, relative to a memory copy.
BRIGHTNET_PUBLIC Answer benchmark_kernels(const BenchmarkOptions& options);
/// Measures the loader on the training images of a data set, relative to decoding them.
BRIGHTNET_PUBLIC Answer benchmark_loader(const BenchmarkOptions& options);
/// Counts what a training step moves and computes on a GPU by its plan, and how long `card` needs at least; nothing runs.
/// Throws DeviceError in a build without CUDA.
BRIGHTNET_PUBLIC Answer count_step(const BenchmarkOptions& options);

/// The cards whose ceilings are known.
BRIGHTNET_PUBLIC std::string card_names();

}  // namespace brightnet
