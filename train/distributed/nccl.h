// Sums of tensors in GPU memory, through NCCL; messages stay with the communicator that connected the ranks.
// NCCL is loaded when it is needed; a build without CUDA has nccl_absent.cpp in the place of nccl.cpp.
//
// All sums go through one stream beside the backend's, in the order in which the ranks asked for them. A
// bucket waits for what the backend has queued so far and for nothing later, so the backward pass goes on
// meanwhile; finish_all_reduces() lets the backend's stream wait for the sums, and the host for nothing. All
// of it may be recorded into a CUDA graph. One stream and one NCCL communicator, because two could wait for
// each other across GPUs; synchronised batch-norm therefore queues after buckets that were started before it.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// For tensors of this backend; nullptr when they lie in host memory (Communicator::host_collectives()). Both
/// outlive it. All ranks call it. They throw a SharedError together when NCCL is missing somewhere, or when
/// not each of them has a GPU of its own; a rank that then cannot connect throws DeviceError alone, while the
/// others may be waiting for it. When an error ends this object, sums that wait for other ranks are aborted:
/// they would keep the GPU, and so the process, from ending.
std::unique_ptr<DeviceCollectives> make_gpu_collectives(Communicator& ranks, Backend& backend);

}  // namespace brightnet
