#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

// The pictures are read where they are: the CPU's memory is the host's.
void CpuBackend::paint_ahead(const Pictures& pictures, void*, const Tensor& pixels) {
  const Shape& shape = pixels.shape;
  BRIGHTNET_CHECK(
      pictures.layout.pictures == shape.n && pixels.type == DType::u8 && (shape.c == 1 || shape.c == 3),
      "pictures are u8, of one channel or three");
  const size_t height = shape.h, row_bytes = shape.w * static_cast<size_t>(shape.c);
  parallel_items(shape.n * height, row_bytes, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row)
      paint_row(pictures, static_cast<int>(row / height), static_cast<int>(row % height), shape.w, shape.c,
                pixels.as<uint8_t>() + row * row_bytes);
  });
}

}  // namespace brightnet::cpu
