// The gradient of a convolution's bias on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// db[c] = or += Σ dy over pixels, in fp32; `workspace`: channel_workspace() of batch_norm.h.
void bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace, cudaStream_t stream);

}  // namespace brightnet::cuda
