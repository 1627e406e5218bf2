// Operations other than convolutions are bound by memory bandwidth: how close each comes to the bandwidth of
// a memory copy on the same device in the same run.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet {

struct KernelBenchmark {
  std::string name;       ///< with "+=" where it accumulates into its destination
  Shape shape;            ///< of its largest tensor
  double bytes = 0;       ///< minimum read and written
  double seconds = 0;     ///< of one call; median over rounds
  double copy_ratio = 0;  ///< its bandwidth over that of copying a tensor of its shape
};

/// Determines the shapes; the defaults are yolov4's.
struct KernelWorkload {
  int input = 608;              ///< side of the network's input in pixels; a multiple of 32
  int parameters = 64'363'104;  ///< with 80 classes, padding included
};

/// Measures at shapes of yolov4's first and middle layers, its spatial pyramid, its head at stride 8 (80 classes) and
/// its parameters. A shape's first entry is "copy".
std::vector<KernelBenchmark> measure_kernels(Backend& backend, Precision precision, int batch,
                                             const KernelWorkload& workload = {});

}  // namespace brightnet
