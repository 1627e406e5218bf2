// Whether this machine's driver, libraries and devices are as training needs them.
#pragma once

#include <vector>

#include "brightnet/answer.h"
#include "brightnet/public.h"

namespace brightnet {

struct MachineReport {
  bool healthy = false;                ///< whether nothing that was found is broken
  Answer answer = {};                  ///< what was found, and what to do about what is broken
  int gpus = 0;                        ///< number of GPUs that the driver shows
  std::vector<int> working_gpus = {};  ///< the indices of the GPUs that compute
};

/// Inspects the CUDA libraries and the GPUs, and runs a convolution on the CPU and every usable GPU.
BRIGHTNET_PUBLIC MachineReport examine_machine();

}  // namespace brightnet
