// Images become the network's input on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// u8 pixels to the compute type: value / 255, correctly rounded to fp32.
void normalize_image(const Tensor& pixels, const Tensor& x, cudaStream_t stream);

}  // namespace brightnet::cuda
