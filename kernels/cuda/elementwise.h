// Elementwise operations: a grid-stride loop over vectors of up to 16 bytes. The body is a
// struct of pointers whose operator()<count>(i) does elements [i, i + count).
#pragma once

#include <initializer_list>
#include <optional>

#include "kernels/cuda/vector.h"

namespace brightnet::cuda {

/// Whether all of these are multiples of 16 bytes: addresses, or byte distances between pixels.
inline bool aligned_for_vectors(std::initializer_list<const void*> addresses) {
  for (const void* address : addresses) {
    if (reinterpret_cast<uintptr_t>(address) % 16 != 0) return false;
  }
  return true;
}

/// Eight blocks of 256 fill a multiprocessor's 2048 threads; twice that balances the tail.
constexpr int elementwise_threads = 256;
inline unsigned elementwise_blocks(size_t items) {
  return blocks_for(items, elementwise_threads, 16 * static_cast<size_t>(multiprocessors()));
}

#ifdef BRIGHTNET_KERNELS

template <int count, typename Body>
__global__ void __launch_bounds__(elementwise_threads) elementwise_kernel(size_t elements, Body body) {
  const size_t vectors = elements / count, rest = elements % count;
  for (size_t i = first_item(); i < vectors; i += item_step()) body.template operator()<count>(i * count);
  if (count > 1 && first_item() < rest) body.template operator()<1>(vectors * count + first_item());
}

/// Runs body on all elements, `count` at a time when the addresses allow it.
template <int count, typename Body>
void for_each_element(size_t elements, std::initializer_list<const void*> addresses, const Body& body,
                      cudaStream_t stream, const std::optional<Traffic>& traffic = {},
                      const std::source_location& where = std::source_location::current()) {
  if (elements == 0) return;
  const bool vectors = count > 1 && aligned_for_vectors(addresses);
  Grid grid(elementwise_blocks(vectors ? elements / count : elements), where);
  grid.traffic = traffic;
  launch(vectors ? elementwise_kernel<count, Body> : elementwise_kernel<1, Body>, grid, elementwise_threads,
         0, stream, elements, body);
}

#endif

}  // namespace brightnet::cuda
