// The kernel that paints a batch's pictures.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"
#include "kernels/math/painting.h"

namespace brightnet::cuda {

/// Queues the painting of what `memory`, a block of this layout on the device, lists.
void paint(const PictureLayout& layout, const void* memory, const Tensor& pixels, cudaStream_t stream);

}  // namespace brightnet::cuda
