// Activations without a batch-norm before them, on the CPU; see Backend for the contract.
#pragma once

#include "core/tensor.h"
#include "kernels/math/activation.h"

namespace brightnet::cpu {

/// y = activation(x); x and y may be the same memory. f32 or bf16.
void activation_forward(Activation activation, const Tensor& x, const Tensor& y);

/// dy *= activation'(x), x the activation's argument.
void activation_backward(Activation activation, const Tensor& x, const Tensor& dy);

}  // namespace brightnet::cpu
