// A tile of 64 bytes by one block of outputs is copied to the stack row by row and written out in the other
// order. Reading across the rows of OHWI weights directly would be slow: they are thousands of bytes apart,
// often a multiple of the page size, and map to the same few cache sets, so each line is fetched once per
// element (oneDNN's own reorders do that: 27 ms of a 620 ms training step of yolov4-tiny on two cores of an
// Emerald Rapids).
#include "kernels/cpu/weight_layout.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {
namespace {

constexpr int line = 16;  ///< floats of a cache line
constexpr int max_block = 64;

/// Calls body(tile, first output, first input, inputs, first element of the tile's blocks) for every
/// tile, in parallel.
template <typename Body>
void for_each_tile(const WeightLayout& layout, Body&& body) {
  const size_t positions = static_cast<size_t>(layout.kernel) * layout.kernel;
  const int padded_inputs = layout.input_blocks * layout.input_block;
  const int width = std::max(line, layout.input_block);
  const size_t bytes = static_cast<size_t>(layout.output_block) * padded_inputs * 2 * sizeof(float);
  parallel_items(layout.output_blocks * positions, bytes, [&](size_t begin, size_t end) {
    alignas(64) float tile[max_block * max_block];
    for (size_t item = begin; item < end; ++item) {
      const size_t block = item / positions, position = item % positions;
      const size_t start = block * layout.output_stride + position / layout.kernel * layout.row_stride +
                           position % layout.kernel * layout.column_stride;
      const size_t row = (block * layout.output_block * positions + position) * layout.inputs;
      for (int input = 0; input < padded_inputs; input += width) {
        body(tile, static_cast<int>(block) * layout.output_block, row + input, input,
             std::min(width, padded_inputs - input), start);
      }
    }
  });
}

/// Calls visit(tile element, blocked element) for a tile of `width` inputs that starts at `input`.
template <typename Visit>
void for_each_weight(const WeightLayout& layout, int input, int width, size_t start, Visit&& visit) {
  for (int i = 0; i < width; ++i) {
    const int block = (input + i) / layout.input_block, inner = (input + i) % layout.input_block;
    const size_t base = start + block * layout.input_stride;
    const int* inside = layout.inside.data() + inner;
    for (int o = 0; o < layout.output_block; ++o) {
      visit(o * max_block + i, base + inside[o * layout.input_block]);
    }
  }
}

}  // namespace

WeightLayout::WeightLayout(const dnnl::memory::desc& desc) {
  const onednn::Blocking blocking = onednn::blocking_of(desc);
  outputs = static_cast<int>(blocking.dims[0]);
  inputs = static_cast<int>(blocking.dims[1]);
  kernel = static_cast<int>(blocking.dims[2]);
  for (const auto& [dimension, size] : blocking.inner) {
    BRIGHTNET_CHECK(dimension < 2, "a weight layout with blocks of kernel positions");
    (dimension == 0 ? output_block : input_block) *= static_cast<int>(size);
  }
  BRIGHTNET_CHECK(output_block <= max_block && input_block <= max_block, "a weight layout with large blocks");
  output_blocks = static_cast<int>(blocking.padded_dims[0]) / output_block;
  input_blocks = static_cast<int>(blocking.padded_dims[1]) / input_block;
  output_stride = blocking.strides[0];
  input_stride = blocking.strides[1];
  row_stride = blocking.strides[2];
  column_stride = blocking.strides[3];
  inside.resize(static_cast<size_t>(output_block) * input_block);
  for (int o = 0; o < output_block; ++o) {
    for (int i = 0; i < input_block; ++i) {
      // Nested blocks are digits of the index, the innermost the least significant.
      int rest[2] = {o, i}, place = 0, step = 1;
      for (auto level = blocking.inner.rbegin(); level != blocking.inner.rend(); ++level) {
        const int size = static_cast<int>(level->second);
        place += rest[level->first] % size * step;
        rest[level->first] /= size;
        step *= size;
      }
      inside[static_cast<size_t>(o) * input_block + i] = place;
    }
  }
}

void pack_weights(const WeightLayout& layout, const float* ohwi, DType type, void* blocked) {
  const size_t row_step = static_cast<size_t>(layout.kernel) * layout.kernel * layout.inputs;
  with_compute_type(type, [&]<typename T>() {
    T* to = static_cast<T*>(blocked);
    for_each_tile(layout, [&](float* tile, int output, size_t from, int input, int width, size_t start) {
      const int real = std::clamp(layout.inputs - input, 0, width);
      for (int o = 0; o < layout.output_block; ++o) {
        float* row = tile + o * max_block;
        const int copied = output + o < layout.outputs ? real : 0;
        std::copy_n(ohwi + from + o * row_step, copied, row);
        std::fill(row + copied, row + width, 0.0f);
      }
      for_each_weight(layout, input, width, start,
                      [&](int place, size_t element) { store(to[element], tile[place]); });
    });
  });
}

void unpack_weights(const WeightLayout& layout, const float* blocked, float* ohwi, bool accumulate) {
  const size_t row_step = static_cast<size_t>(layout.kernel) * layout.kernel * layout.inputs;
  for_each_tile(layout, [&](float* tile, int output, size_t at, int input, int width, size_t start) {
    for_each_weight(layout, input, width, start,
                    [&](int place, size_t element) { tile[place] = blocked[element]; });
    const int real = std::clamp(layout.inputs - input, 0, width);
    for (int o = 0; o < std::min(layout.output_block, layout.outputs - output); ++o) {
      const float* row = tile + o * max_block;
      float* to = ohwi + at + o * row_step;
      for (int i = 0; i < real; ++i) to[i] = accumulate ? to[i] + row[i] : row[i];
    }
  });
}

}  // namespace brightnet::cpu
