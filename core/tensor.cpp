#include "core/tensor.h"

namespace brightnet {

std::string to_string(const Shape& shape) {
  return std::to_string(shape.n) + 'x' + std::to_string(shape.h) + 'x' + std::to_string(shape.w) + 'x' +
         std::to_string(shape.c);
}

Tensor slice_channels(const Tensor& whole, int first, int channels) {
  BRIGHTNET_CHECK(first >= 0 && channels > 0 && first + channels <= whole.shape.c,
                  "a slice beyond the last channel");
  Tensor slice = whole;
  if (whole.data) slice.data = static_cast<std::byte*>(whole.data) + first * size_of(whole.type);
  slice.shape.c = channels;
  slice.stride = static_cast<int>(whole.pixel_stride());
  return slice;
}

}  // namespace brightnet
