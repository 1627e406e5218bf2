// The speed of a trained network alone: from the pixels of a batch in memory to the heads' predictions, without decoding
// images, fitting them, or NMS.
#pragma once

#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "detect/inference.h"

namespace brightnet {

struct InferenceBenchmark {
  std::string device;
  Precision precision = Precision::fp32;
  int batch = 0, threads = 0, rounds = 0;
  InputSize size;
  double seconds = 0;  ///< of a batch, the median
  double least = 0;    ///< of the quickest batch
  double flops = 0;    ///< of its convolutions
  size_t peak_bytes = 0;
  std::vector<LayerBenchmark> layers{};  ///< seconds of each one's quickest pass, in `forward`

  double images_per_second() const { return batch / seconds; }
};

/// Measures for `seconds`, at least `min_rounds` batches, and then each layer.
InferenceBenchmark measure_inference(InferenceNetwork& inference, double seconds, int min_rounds = 7);

}  // namespace brightnet
