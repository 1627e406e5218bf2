// Operations on the channel vectors of pixels, also of slices: an item is a vector of channels of one pixel,
// and neighbouring threads take neighbouring vectors.
#pragma once

#include <initializer_list>

#include "kernels/cuda/elementwise.h"

namespace brightnet::cuda {

/// Whether every pixel's channels are whole vectors of 16 bytes, in all of these tensors.
inline bool channels_fill_vectors(std::initializer_list<Tensor> tensors) {
  for (const Tensor& t : tensors) {
    const size_t bytes = size_of(t.type);
    if (!t) continue;
    if (!aligned_for_vectors({t.data}) || t.shape.c * bytes % 16 != 0 || t.pixel_stride() * bytes % 16 != 0)
      return false;
  }
  return true;
}

/// Item indices have 32 bits: a 64-bit division would take longer than moving 16 bytes.
inline unsigned item_count(size_t pixels, int channels, int count) {
  const size_t items = pixels * (channels / count);
  BRIGHTNET_CHECK(items <= 0xffffffffu, "a tensor of more than 2^32 vectors");
  return static_cast<unsigned>(items);
}

#ifdef BRIGHTNET_KERNELS

template <typename Body>
__global__ void __launch_bounds__(elementwise_threads)
    channel_vector_kernel(unsigned items, unsigned vectors_per_pixel, Body body) {
  for (size_t i = first_item(); i < items; i += item_step()) {
    const unsigned item = static_cast<unsigned>(i), pixel = item / vectors_per_pixel;
    body(pixel, (item - pixel * vectors_per_pixel) * Body::width);
  }
}

/// Runs body(pixel, first channel) for every vector of Body::width channels.
template <typename Body>
void for_each_channel_vector(size_t pixels, int channels, const Body& body, cudaStream_t stream,
                             const std::optional<Traffic>& traffic = {},
                             const std::source_location& where = std::source_location::current()) {
  const unsigned items = item_count(pixels, channels, Body::width);
  if (items == 0) return;
  Grid grid(elementwise_blocks(items), where);
  grid.traffic = traffic;
  launch(channel_vector_kernel<Body>, grid, elementwise_threads, 0, stream, items,
         static_cast<unsigned>(channels / Body::width), body);
}

#endif

}  // namespace brightnet::cuda
