// Max-pooling on the CPU.
#pragma once

#include "kernels/backend.h"

namespace brightnet::cpu {

/// y[oy, ox] = the maximum of x over rows oy·stride − before ... + window − 1 and the same of columns, with
/// before = padding / 2 rounded down; what lies outside of x does not count. `argmax` (u8, or null) receives
/// the winner's place in its window, row · window + column. Of equal elements the first one in that order
/// wins; a NaN wins over every number, the last NaN over the others. The same in every implementation.
/// window ≤ 15.
void max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y, const Tensor& argmax);

/// Every dy is added to the element of dx that won its window; the others become 0 or, with `accumulate`,
/// keep their value. Sums are fp32, in the order of the outputs, for any number of threads.
void max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                       bool accumulate);

}  // namespace brightnet::cpu
