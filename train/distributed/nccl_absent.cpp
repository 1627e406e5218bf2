// Stands in for nccl.cpp in a build without CUDA, whose backends all compute in host memory.
#include "train/distributed/nccl.h"

namespace brightnet {

std::unique_ptr<Communicator> make_gpu_communicator(Communicator&, Backend&) {
  return nullptr;
}

}  // namespace brightnet
