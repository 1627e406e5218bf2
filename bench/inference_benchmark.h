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
  double seconds = 0;  ///< median time of a batch
  double least = 0;    ///< time of the quickest batch, in seconds
  double flops = 0;    ///< multiplications and additions of a batch's convolutions
  size_t peak_bytes = 0;
  std::vector<LayerBenchmark> layers{};  ///< the layers; `forward` is the seconds of the quickest pass

  double images_per_second() const { return batch / seconds; }
};

/// Measures batches for `seconds`, at least `min_rounds` of them, and then each layer.
InferenceBenchmark measure_inference(InferenceNetwork& inference, double seconds, int min_rounds = 7);

}  // namespace brightnet
