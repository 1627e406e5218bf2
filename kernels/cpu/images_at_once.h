// Convolutions of a few images at a time, for what copies activations into another type or layout.
#pragma once

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// Images of a forward-only plan that are copied and convolved together: as many as divide the batch and have fp32
/// copies of at most so many bytes. Training's passes need the batch as a whole, for the weights' gradient.
inline int images_at_once(const ConvolutionSpec& spec, size_t most_bytes) {
  if (spec.training) return spec.input.n;
  const size_t image = (spec.input.count() + spec.output.count()) * sizeof(float) / spec.input.n;
  int images = spec.input.n;
  while (images > 1 && (spec.input.n % images != 0 || images * image > most_bytes)) --images;
  return images;
}

/// `images` images of a dense tensor, from `first` on.
inline Tensor images_of(const Tensor& tensor, int first, int images) {
  Tensor part = tensor;
  part.shape.n = images;
  part.data = static_cast<std::byte*>(tensor.data) + first * tensor.bytes() / tensor.shape.n;
  return part;
}

}  // namespace brightnet::cpu
