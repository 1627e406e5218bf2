// Shared by the CPU's elementwise loops: the element types they are compiled for, and the division of work
// among threads. The loops themselves are plain C++ under `omp simd`, which tells the compiler that no
// iteration depends on another one: without it, a call in place (x and y the same memory) would fail the
// compiler's overlap check at run time and fall back to scalar code.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/threads.h"

namespace brightnet::cpu {

/// Calls body.template operator()<T>() with the storage type of activations. The arithmetic is always fp32:
/// elements are widened when read and rounded when written.
template <typename Body>
void with_compute_type(DType type, Body&& body) {
  switch (type) {
    case DType::f32: return body.template operator()<float>();
    case DType::bf16: return body.template operator()<BFloat16>();
    default:
      check_failed("type is f32 or bf16", __FILE__, __LINE__,
                   "the CPU computes in f32 and bf16, not in " + std::string(enum_name(type)));
  }
}

/// Calls body as with_compute_type() does, for what moves or compares values: with 8-bit activations too.
template <typename Body>
void with_stored_type(DType type, Body&& body) {
  if (type == DType::u8) return body.template operator()<uint8_t>();
  with_compute_type(type, body);
}

inline float widen(float value) {
  return value;
}
inline float widen(const BFloat16& value) {
  return static_cast<float>(value);
}

inline float widen(uint8_t value) {
  return value;
}

/// Writes `value` rounded to the element's type. Not an assignment of BFloat16(value): under `omp simd` g++
/// gives every lane its own copy of such a temporary, in memory, and the loop stays scalar.
inline void store(float& element, float value) {
  element = value;
}
inline void store(BFloat16& element, float value) {
  element.bits = BFloat16::round(value);
}

/// Writes a value that was widened from an element and is unchanged, so that no rounding is needed.
inline void store_exact(float& element, float value) {
  element = value;
}
inline void store_exact(BFloat16& element, float value) {
  element.bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

inline void store_exact(uint8_t& element, float value) {
  element = static_cast<uint8_t>(value);
}

/// Adds `count` elements of `from` to those of `to`.
template <typename T>
void add_run(const T* from, T* to, size_t count) {
#pragma omp simd
  for (size_t i = 0; i < count; ++i) store(to[i], widen(to[i]) + widen(from[i]));
}

/// Operations with less memory traffic are faster on one thread.
constexpr size_t bytes_worth_a_thread = 64 << 10;

/// Calls body(begin, end) on parts of [0, items), in parallel when the whole of it moves enough bytes.
template <typename Body>
void parallel_items(size_t items, size_t bytes_per_item, Body&& body) {
  if (items == 0) return;
  if (items > 1 && items * bytes_per_item > bytes_worth_a_thread) {
    parallel_ranges(items, body);
  } else {
    body(size_t{0}, items);
  }
}

/// parallel_items() over elements, divided at whole cache lines: no two threads write to one line, and in
/// aligned memory every part starts aligned.
template <typename Body>
void parallel_elements(size_t count, size_t bytes_per_element, Body&& body) {
  constexpr size_t block = 64;
  parallel_items((count + block - 1) / block, block * bytes_per_element,
                 [&](size_t begin, size_t end) { body(begin * block, std::min(end * block, count)); });
}

}  // namespace brightnet::cpu
