// Operations other than convolutions are bound by memory bandwidth: how close each comes to the bandwidth of
// a memory copy on the same device in the same run.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet {

struct KernelBenchmark {
  std::string name;       ///< name of the operation, with "+=" where it accumulates into its destination
  Shape shape;            ///< shape of the operation's largest tensor
  double bytes = 0;       ///< fewest bytes that one call has to read and write
  double seconds = 0;     ///< seconds of one call; median over rounds
  double copy_ratio = 0;  ///< bandwidth over that of copying a tensor of the same shape
};

/// Determines the shapes; the defaults are yolov4's.
struct KernelWorkload {
  int input = 608;              ///< side of the network's input in pixels; a multiple of 32
  int parameters = 64'363'104;  ///< number of parameters with 80 classes, padding included
};

/// Measures at shapes of yolov4's first and middle layers, its spatial pyramid, its head at stride 8 (80 classes) and
/// its parameters. A shape's first entry is "copy".
std::vector<KernelBenchmark> measure_kernels(Backend& backend, Precision precision, int batch,
                                             const KernelWorkload& workload = {});

}  // namespace brightnet
