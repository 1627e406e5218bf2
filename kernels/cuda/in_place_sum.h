// Whether what adds to a gradient in place computes that sum: nothing in cuDNN's documentation says that an engine that
// adds may write over its addend. One that reads it after writing, or starts by writing zeros, would train on wrong
// gradients without any other sign.
#pragma once

#include <functional>

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Queue work on `part`; false when that fails.
struct InPlaceSum {
  std::function<bool()> product;  ///< part = product
  std::function<bool()> sum;      ///< part += product, which is what is examined
};

enum class InPlace : uint8_t {
  adds,
  fails,   ///< it does not run, or computes something else
  unknown  ///< the product is zero or infinite everywhere, which does not tell
};

/// Compares `sum`, started from random numbers as large as the product, with the sum of both, in samples from all over
/// the tensor. Overwrites `part`, and waits for the device.
InPlace check_in_place(const InPlaceSum& work, const Tensor& part, cudaStream_t stream);

}  // namespace brightnet::cuda
