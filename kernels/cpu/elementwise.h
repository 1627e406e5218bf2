// Single passes over tensors and arrays on the CPU, for the operations of the backend and for convolutions and optimizers
// that are made of them.
#pragma once

#include <cstddef>

#include "core/tensor.h"
#include "kernels/math/activation.h"
#include "kernels/math/quantization.h"

namespace brightnet::cpu {

/// y = activation(x); x and y may be the same tensor.
void apply_activation(Activation activation, const Tensor& x, const Tensor& y);

/// Backend::cast() between f32 and bf16.
void cast(const Tensor& from, const Tensor& to);

/// Backend::quantize().
void quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y);

/// Σ x² in fp64: cannot overflow for finite x; +∞ or NaN exactly when an element is not finite. Bit-identical
/// for any number of threads.
double sum_of_squares(const float* x, size_t count);

}  // namespace brightnet::cpu
