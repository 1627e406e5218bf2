// Ranks with a GPU each: tensors in GPU memory through NCCL, everything else through the communicator that
// started them.
//
// All sums go through one stream beside the backend's, in the order in which the ranks asked for them. A
// bucket waits for what the backend has queued so far and for nothing later, so the backward pass goes on
// meanwhile; finish_all_reduces() lets the backend's stream wait for the sums, and the host for nothing. All
// of it may be recorded into a CUDA graph. One stream and one NCCL communicator, because two could wait for
// each other across GPUs; synchronised batch-norm therefore queues behind buckets that were started before
// it.
#pragma once

#include <memory>

#include "train/communicator.h"

struct CUstream_st;

namespace brightnet {

/// `stream` is the backend's (cudaStream_t), on the current device, and outlives the communicator; `ranks` is
/// what they were started with. Throws DeviceError when NCCL is missing or cannot connect the GPUs.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> ranks,
                                                     CUstream_st* stream);

}  // namespace brightnet
