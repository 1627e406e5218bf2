// Concat and split, both ways, on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Copies (or adds) `channels` channels of every pixel. Takes slices.
void copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel, int channels,
                   bool accumulate, cudaStream_t stream);

}  // namespace brightnet::cuda
