// Shared by the kernels: elements of the compute types, vector accesses of up to 16 bytes, and warp sums.
// Arithmetic is fp32: elements are widened when read and rounded when written.
#pragma once

#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

using Half = __half;
using Bf16 = __nv_bfloat16;

/// Calls body.template operator()<T>() with the element type of the tensor: float, Half or Bf16.
template <typename Body>
void with_compute_type(DType type, Body&& body) {
  switch (type) {
    case DType::f32: return body.template operator()<float>();
    case DType::f16: return body.template operator()<Half>();
    case DType::bf16: return body.template operator()<Bf16>();
    default:
      check_failed("type is f32, f16 or bf16", __FILE__, __LINE__,
                   "the GPU computes in f32, f16 and bf16, not in " + std::string(enum_name(type)));
  }
}

#ifdef BRIGHTNET_KERNELS

constexpr unsigned full_warp = 0xffffffffu;
constexpr int warp_size = 32;

__device__ __forceinline__ float widen(float value) {
  return value;
}
__device__ __forceinline__ float widen(Half value) {
  return __half2float(value);
}
__device__ __forceinline__ float widen(Bf16 value) {
  return __bfloat162float(value);
}

/// The element nearest to the value, ties to even.
template <typename T>
__device__ __forceinline__ T narrow(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, Half>) {
    return __float2half_rn(value);
  } else {
    return __float2bfloat16_rn(value);
  }
}

/// `count` elements read or written by one instruction; count · sizeof(T) is a power of two up to 16.
template <typename T, int count>
struct alignas(sizeof(T) * count) Vector {
  T element[count];
};

/// Elements of a T in 16 bytes.
template <typename T>
constexpr int whole_vector = static_cast<int>(16 / sizeof(T));

/// Loads or stores with one access; the address is a multiple of its size.
template <int count, typename T>
__device__ __forceinline__ Vector<T, count> load(const T* from) {
  check_access(from, sizeof(T) * count, "load");
  return *reinterpret_cast<const Vector<T, count>*>(from);
}
template <int count, typename T>
__device__ __forceinline__ void store(T* to, const Vector<T, count>& vector) {
  check_access(to, sizeof(T) * count, "store");
  *reinterpret_cast<Vector<T, count>*>(to) = vector;
}

/// The type with which CUDA's own functions (__ldcs(), __stcs()) access so many bytes.
template <size_t bytes>
using Word = std::conditional_t<
    bytes == 16, uint4,
    std::conditional_t<bytes == 8, uint2,
                       std::conditional_t<bytes == 4, unsigned,
                                          std::conditional_t<bytes == 2, unsigned short, unsigned char>>>>;

/// Loads or stores what is not read again soon: the caches give it up before anything else.
template <int count, typename T>
__device__ __forceinline__ Vector<T, count> load_once(const T* from) {
  using Bytes = Word<sizeof(T) * count>;
  check_access(from, sizeof(Bytes), "load");
  const Bytes word = __ldcs(reinterpret_cast<const Bytes*>(from));
  Vector<T, count> vector;
  memcpy(&vector, &word, sizeof word);
  return vector;
}
template <int count, typename T>
__device__ __forceinline__ void store_once(T* to, const Vector<T, count>& vector) {
  Word<sizeof(T) * count> word;
  check_access(to, sizeof word, "store");
  memcpy(&word, &vector, sizeof word);
  __stcs(reinterpret_cast<decltype(word)*>(to), word);
}

/// Loads or stores elements with the conversion to or from fp32.
template <int count, typename T>
__device__ __forceinline__ void load_floats(const T* from, float (&values)[count]) {
  const Vector<T, count> vector = load<count>(from);
#pragma unroll
  for (int i = 0; i < count; ++i) values[i] = widen(vector.element[i]);
}
template <int count, typename T>
__device__ __forceinline__ void store_floats(T* to, const float (&values)[count]) {
  Vector<T, count> vector;
#pragma unroll
  for (int i = 0; i < count; ++i) vector.element[i] = narrow<T>(values[i]);
  store<count>(to, vector);
}

/// Sum over the lanes of a whole warp, the same in every lane and in every run.
template <typename T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(full_warp, value, distance);
  return value;
}

/// The first item of this thread and the distance to its next one in a grid-stride loop over one dimension.
__device__ __forceinline__ size_t first_item() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ size_t item_step() {
  return static_cast<size_t>(gridDim.x) * blockDim.x;
}

#endif

}  // namespace brightnet::cuda
