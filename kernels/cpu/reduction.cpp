// The array is divided into parts that depend only on its length, and a part into interleaved lanes; lanes
// and parts are added in a fixed order, so the result does not depend on the threads. The square of a float
// is exact in a double.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

constexpr size_t lanes = 32;
constexpr size_t most_parts = 256;

double sum_of_part(const float* x, size_t count) {
  double lane[lanes] = {};
  const size_t whole = count / lanes * lanes;
  for (size_t i = 0; i < whole; i += lanes) {
#pragma omp simd
    for (size_t j = 0; j < lanes; ++j) {
      const double value = x[i + j];
      lane[j] += value * value;
    }
  }
  for (size_t i = whole; i < count; ++i) {
    const double value = x[i];
    lane[i - whole] += value * value;
  }
  double sum = 0;
  for (const double partial : lane) sum += partial;
  return sum;
}

}  // namespace

double sum_of_squares(const float* x, size_t count) {
  // At least a few pages each.
  const size_t least = 4096;
  const size_t length = std::max(least, (count / most_parts / lanes + 1) * lanes);
  const size_t parts = (count + length - 1) / length;
  double partial[most_parts];
  parallel_items(parts, length * sizeof(float), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      partial[i] = sum_of_part(x + i * length, std::min(length, count - i * length));
    }
  });
  double sum = 0;
  for (size_t i = 0; i < parts; ++i) sum += partial[i];
  return sum;
}

}  // namespace brightnet::cpu
