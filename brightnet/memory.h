// The memory that a run will need, without running it.
#pragma once

#include <string>

#include "brightnet/answer.h"
#include "brightnet/configuration.h"
#include "brightnet/public.h"

namespace brightnet {

struct MemoryOptions {
  Configuration run = {};          ///< `config` may also be a model's name, or the YAML of a model
  std::string device = "auto";     ///< as DeviceOptions::device; a GPU need not be there
  int batch = 0;                   ///< images per pass; 0: the micro-batch that a run would choose
  int classes = 0;                 ///< number of classes; 0: the file's
  int height = 0, width = 0;       ///< of the network's input, in pixels; 0: the configuration's
  std::string device_memory = {};  ///< "8GiB": the largest batch that fits in it is asked for as well
};

/// The plan of a training step and of a forward pass: bytes by kind and by layer. Throws InputError for options
/// out of their ranges and for what cannot be trained, and DeviceError when the free memory of a device that cannot be used
/// decides.
BRIGHTNET_PUBLIC Answer plan_memory(const MemoryOptions& options);

}  // namespace brightnet
