// An activation over a whole tensor on the CPU, for the operation and for convolutions that cannot fuse it.
#pragma once

#include "core/tensor.h"
#include "kernels/math/activation.h"

namespace brightnet::cpu {

/// y = activation(x); x and y may be the same tensor.
void apply_activation(Activation activation, const Tensor& x, const Tensor& y);

}  // namespace brightnet::cpu
