// The operations beside the convolutions move memory and compute little: how near each comes to what copying
// memory reaches on the same device in the same run.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet {

struct KernelBenchmark {
  std::string name;
  Shape shape;            ///< of its largest tensor
  double bytes = 0;       ///< that it has to read and write
  double seconds = 0;     ///< of one call; the median of some rounds
  double copy_ratio = 0;  ///< its bytes a second over the copy's
};

/// At shapes of yolov4's first and middle layers at 608 pixels.
std::vector<KernelBenchmark> measure_kernels(Backend& backend, Precision precision, int batch);

}  // namespace brightnet
