// Blocks of pixels become single pixels (darknet's [reorg3d]) on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// y[n, h, w, (i·block + j)·C + c] = x[n, h·block + i, w·block + j, c], C the channels of x; dense tensors.
void space_to_depth(int block, const Tensor& x, const Tensor& y, cudaStream_t stream);
void space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate,
                             cudaStream_t stream);

}  // namespace brightnet::cuda
