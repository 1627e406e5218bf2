#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

template <typename From, typename To>
void cast_part(const From* from, To* to, size_t begin, size_t end) {
  if constexpr (sizeof(From) == sizeof(To)) {
    std::copy(from + begin, from + end, to + begin);
  } else {
#pragma omp simd
    for (size_t i = begin; i < end; ++i) store(to[i], widen(from[i]));
  }
}

}  // namespace

void cast(const Tensor& from, const Tensor& to) {
  BRIGHTNET_CHECK(from.shape == to.shape, "cast between unlike shapes");
  with_compute_type(from.type, [&]<typename From>() {
    with_compute_type(to.type, [&]<typename To>() {
      parallel_elements(from.count(), sizeof(From) + sizeof(To),
                        [source = from.as<From>(), target = to.as<To>()](size_t begin, size_t end) {
                          cast_part(source, target, begin, end);
                        });
    });
  });
}

void CpuBackend::cast(const Tensor& from, const Tensor& to) {
  cpu::cast(from, to);
}

void CpuBackend::add_rounded(std::span<const CastPair> pairs, bool accumulate) {
  for (const auto& [from, to] : pairs) {
    BRIGHTNET_CHECK(from.shape == to.shape && to.type == DType::f32,
                    "a rounded gradient is added to an fp32 one");
    if (!accumulate) {
      cpu::cast(from, to);
      continue;
    }
    with_compute_type(from.type, [&, &from = from, &to = to]<typename From>() {
      parallel_elements(from.count(), sizeof(From) + 2 * sizeof(float),
                        [source = from.as<From>(), target = to.as<float>()](size_t begin, size_t end) {
#pragma omp simd
                          for (size_t i = begin; i < end; ++i) target[i] += widen(source[i]);
                        });
    });
  }
}

}  // namespace brightnet::cpu
