// Max-pooling of large windows at stride 1 (SPP's 5, 9 and 13) without reading window² elements per output.
#pragma once

#include "kernels/cpu/max_pool_geometry.h"

namespace brightnet::cpu {

/// max_pool_forward() for stride 1. T is float, BFloat16 or uint8_t; `argmax` may be null.
template <typename T>
void max_pool_cascade(const PoolGeometry& pool, const T* x, T* y, uint8_t* argmax);

}  // namespace brightnet::cpu
