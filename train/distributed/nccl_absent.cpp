// Replaces nccl.cpp in a build without CUDA, where all tensors are in host memory.
#include "train/distributed/nccl.h"

namespace brightnet {

std::unique_ptr<DeviceCollectives> make_gpu_collectives(Communicator&, Backend&) {
  return nullptr;
}

}  // namespace brightnet
