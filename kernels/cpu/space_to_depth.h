// Blocks of pixels to channels, and back, on the CPU.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// y[n, h, w, (i·block + j)·C + c] = x[n, h·block + i, w·block + j, c] with C channels of x: every block of
/// pixels becomes one, its rows one after the other (darknet's [reorg3d], ONNX's SpaceToDepth). f32 or bf16.
void space_to_depth(int block, const Tensor& x, const Tensor& y);

/// dx = or += what dy holds for each element of x.
void space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate);

}  // namespace brightnet::cpu
