// Stands in for nccl.cpp in a build without CUDA, whose backends all compute in host memory.
#include "train/distributed/nccl.h"

namespace brightnet {

std::unique_ptr<DeviceCollectives> make_gpu_collectives(Communicator&, Backend&) {
  return nullptr;
}

}  // namespace brightnet
