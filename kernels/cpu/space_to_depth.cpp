// A row of a block is `block` neighbouring pixels of x and one contiguous part of y's pixel, so the operation
// copies runs of block · C elements.
#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

void check_shapes(int block, const Tensor& large, const Tensor& small) {
  const Shape& s = small.shape;
  BRIGHTNET_CHECK(
      block >= 1 && s.c % (block * block) == 0 &&
          (large.shape == Shape{s.n, s.h * block, s.w * block, s.c / (block * block)}),
      "blocks of " + std::to_string(block) + " between " + to_string(large.shape) + " and " + to_string(s));
  BRIGHTNET_CHECK(large.type == small.type, "pixels rearranged between types");
}

/// Calls run(element of the large tensor, element of the small one, length) for every run.
template <typename Run>
void for_each_run(int block, const Shape& large, const Shape& small, size_t bytes_per_element, Run&& run) {
  const size_t side = block, length = side * large.c, large_row = static_cast<size_t>(large.w) * large.c,
               small_row = static_cast<size_t>(small.w) * small.c;
  const size_t rows = static_cast<size_t>(small.n) * small.h;
  parallel_items(rows, 2 * small_row * bytes_per_element, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      for (size_t i = 0; i < side; ++i) {
        for (size_t column = 0; column < static_cast<size_t>(small.w); ++column) {
          run((row * side + i) * large_row + column * length, row * small_row + column * small.c + i * length,
              length);
        }
      }
    }
  });
}

}  // namespace

void CpuBackend::space_to_depth(int block, const Tensor& x, const Tensor& y) {
  check_shapes(block, x, y);
  with_stored_type(x.type, [&]<typename T>() {
    for_each_run(block, x.shape, y.shape, sizeof(T), [&](size_t large, size_t small, size_t length) {
      std::memcpy(y.as<T>() + small, x.as<T>() + large, length * sizeof(T));
    });
  });
}

void CpuBackend::space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate) {
  check_shapes(block, dx, dy);
  with_compute_type(dx.type, [&]<typename T>() {
    for_each_run(block, dx.shape, dy.shape, sizeof(T), [&](size_t large, size_t small, size_t length) {
      if (accumulate) {
        add_run(dy.as<T>() + small, dx.as<T>() + large, length);
      } else {
        std::memcpy(dx.as<T>() + large, dy.as<T>() + small, length * sizeof(T));
      }
    });
  });
}

}  // namespace brightnet::cpu
