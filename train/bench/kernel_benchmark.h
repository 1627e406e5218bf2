// The operations beside the convolutions move memory and compute little: how near each comes to what copying
// memory reaches on the same device in the same run.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet {

struct KernelBenchmark {
  std::string name;       ///< with "+=" where it adds to its destination
  Shape shape;            ///< of its largest tensor
  double bytes = 0;       ///< that it has to read and write
  double seconds = 0;     ///< of one call; the median of some rounds
  double copy_ratio = 0;  ///< its bytes a second over those of copying a tensor of its shape
};

/// What the shapes follow from: yolov4's own, unless a test wants less.
struct KernelWorkload {
  int input = 608;              ///< pixels of the network's side; a multiple of 32
  int parameters = 64'363'104;  ///< with 80 classes, padding included
};

/// At shapes of yolov4's first and middle layers, its spatial pyramid, its head at stride 8 (80 classes) and
/// its parameters. A shape's first entry is "copy".
std::vector<KernelBenchmark> measure_kernels(Backend& backend, Precision precision, int batch,
                                             const KernelWorkload& workload = {});

}  // namespace brightnet
