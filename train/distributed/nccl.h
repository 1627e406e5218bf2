// All-reduces of tensors in GPU memory, through NCCL; other messages use the ranks' Communicator. NCCL is
// loaded at run time when needed; a build without CUDA has nccl_absent.cpp instead of nccl.cpp.
//
// All sums run in one separate stream, in the order in which they were queued. A bucket waits only for what
// the backend has queued before it, so the backward pass continues meanwhile; finish_all_reduces() makes the
// backend's stream wait for the sums, but not the host. All of it can be captured into a CUDA graph. There is
// one stream and one NCCL communicator because two could deadlock across GPUs; the sums of synchronized
// batch-norm therefore wait for buckets that were started before them.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// Collectives for this backend's tensors, connected, with all the memory that NCCL takes of each GPU (0.3 to 1 GiB);
/// nullptr when the tensors are in host memory (Communicator::host_collectives()). Both arguments outlive the result. A
/// collective call: all ranks throw the same SharedError when NCCL is missing on any of them or two share a GPU; a rank
/// that then cannot connect throws DeviceError alone, while others may be waiting for it. When an exception destroys the
/// result, pending sums are aborted, which would otherwise keep the process from exiting.
std::unique_ptr<DeviceCollectives> make_gpu_collectives(Communicator& ranks, Backend& backend);

}  // namespace brightnet
