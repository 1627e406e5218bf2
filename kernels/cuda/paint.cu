// A thread takes a pixel of a picture through all strokes that cover it. Of an image that is resized it reads as many
// pixels as the filter is wide, 4 × 4 where it shrinks to two thirds; neighbours read nearly the same ones, which come from
// the caches. The images' bytes are read from memory about once, each byte of the picture is written once.
#include "kernels/cuda/paint.h"

namespace brightnet::cuda {
namespace {

constexpr int block_width = 32, block_height = 8;

// A single block is asked for: to hold more of them at a time the compiler would spill registers.
template <int channels>
__global__ void __launch_bounds__(block_width* block_height, 1)
    paint_pictures(const int* counts, const Stroke* strokes, int most_strokes, const uint8_t* images,
                   int width, int height, uint8_t* pixels) {
  const int x = static_cast<int>(blockIdx.x) * block_width + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * block_height + static_cast<int>(threadIdx.y);
  if (x >= width || y >= height) return;
  const size_t picture = blockIdx.z;
  const size_t at =
      (picture * static_cast<size_t>(height) + static_cast<size_t>(y)) * static_cast<size_t>(width) +
      static_cast<size_t>(x);
  paint_pixel<channels>(strokes + picture * static_cast<size_t>(most_strokes), counts[picture], images, x, y,
                        pixels + at * channels);
}

}  // namespace

void paint(const PictureLayout& layout, const void* memory, const Tensor& pixels, cudaStream_t stream) {
  const Shape& shape = pixels.shape;
  BRIGHTNET_CHECK(layout.pictures == shape.n && pixels.type == DType::u8 && (shape.c == 1 || shape.c == 3),
                  "pictures are u8, of one channel or three");
  const auto* bytes = static_cast<const std::byte*>(memory);
  const dim3 grid(blocks_for(static_cast<size_t>(shape.w), block_width),
                  blocks_for(static_cast<size_t>(shape.h), block_height), static_cast<unsigned>(shape.n));
  const auto queue = [&](auto kernel) {
    launch(kernel, grid, dim3(block_width, block_height), 0, stream, reinterpret_cast<const int*>(bytes),
           reinterpret_cast<const Stroke*>(bytes + layout.strokes_at()), layout.most_strokes,
           reinterpret_cast<const uint8_t*>(bytes + layout.pixels_at()), shape.w, shape.h,
           pixels.as<uint8_t>());
  };
  shape.c == 3 ? queue(paint_pictures<3>) : queue(paint_pictures<1>);
}

}  // namespace brightnet::cuda
