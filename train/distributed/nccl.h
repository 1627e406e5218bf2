// Ranks with a GPU each: tensors in GPU memory through NCCL, everything else through the communicator that
// started them. NCCL is loaded when it is needed; a build without CUDA has nccl_absent.cpp in the place of
// nccl.cpp.
//
// All sums go through one stream beside the backend's, in the order in which the ranks asked for them. A
// bucket waits for what the backend has queued so far and for nothing later, so the backward pass goes on
// meanwhile; finish_all_reduces() lets the backend's stream wait for the sums, and the host for nothing. All
// of it may be recorded into a CUDA graph. One stream and one NCCL communicator, because two could wait for
// each other across GPUs; synchronised batch-norm therefore queues behind buckets that were started before
// it.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// The communicator for tensors of this backend; nullptr when they lie in host memory, where `ranks` carries
/// them itself. Both outlive it. All ranks call it. They throw a SharedError together when NCCL is missing
/// somewhere, or when not each of them has a GPU of its own; a rank that then cannot connect throws
/// DeviceError alone, while the others may be waiting for it.
std::unique_ptr<Communicator> make_gpu_communicator(Communicator& ranks, Backend& backend);

}  // namespace brightnet
