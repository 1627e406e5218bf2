// Whether what adds to a gradient in place computes that sum: nothing in cuDNN's documentation says that an engine that
// adds may write over its addend. One that reads it after writing, or starts by writing zeros, would train on wrong
// gradients without any other sign.
#pragma once

#include <functional>

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Queue work on `part`, a tensor like the addend; false when that fails.
struct InPlaceSum {
  std::function<bool()> product;  ///< part = product
  std::function<bool()> sum;      ///< part += product, which is what is examined
};

/// Compares `sum`, started from a copy of the addend, with the sum of `product` and the addend, in samples from all over
/// the tensor. False also when these do not tell: where addend or product are zero or infinite everywhere, or one is
/// lost in the rounding of the other. Overwrites `part`, and waits for the device.
bool adds_in_place(const InPlaceSum& work, const Tensor& addend, const Tensor& part, cudaStream_t stream);

}  // namespace brightnet::cuda
