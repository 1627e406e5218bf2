// Reads and writes every element once. A thread takes as many elements as fill 16 bytes of the wider type, so
// that the narrower side moves 8 bytes at a time: still whole sectors a warp.
//
// cast_all: the pairs are a table among the kernel's arguments (up to 4 KB), so that the working weights of a whole
// network take one launch and not one a layer. A block takes a tile of one pair; its threads load four vectors
// before they use the first.
#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elementwise.h"

namespace brightnet::cuda {
namespace {

template <typename From, typename To>
struct CastElements {
  const From* from;
  To* to;

  template <int count>
  __device__ void operator()(size_t i) const {
    float values[count];
    load_floats<count>(from + i, values);
    store_floats<count>(to + i, values);
  }
};

/// Arguments of cast_all's kernel, for one launch.
struct CastTable {
  static constexpr int most = 128;
  const float* from[most];
  void* to[most];
  unsigned elements[most];
  unsigned first_tile[most + 1];  ///< of each pair, and the number of all tiles
  unsigned count;                 ///< of pairs
};

constexpr int table_threads = 256, table_vector = 4, table_batch = 4;
constexpr unsigned tile_elements = table_threads * table_vector * table_batch;

template <typename T>
__global__ void __launch_bounds__(table_threads) cast_table_kernel(CastTable table) {
  unsigned pair = 0, end = table.count;  // the last pair whose first tile is not after this one
  while (end - pair > 1) {
    const unsigned middle = (pair + end) / 2;
    (table.first_tile[middle] <= blockIdx.x ? pair : end) = middle;
  }
  const float* const from = table.from[pair];
  T* const to = static_cast<T*>(table.to[pair]);
  const unsigned elements = table.elements[pair];
  const unsigned begin = (blockIdx.x - table.first_tile[pair]) * tile_elements + threadIdx.x * table_vector;
  constexpr unsigned step = table_threads * table_vector;
  Vector<float, table_vector> vectors[table_batch] = {};
#pragma unroll
  for (unsigned j = 0; j < table_batch; ++j) {
    const unsigned at = begin + j * step;
    if (at + table_vector <= elements) vectors[j] = load<table_vector>(from + at);
  }
#pragma unroll
  for (unsigned j = 0; j < table_batch; ++j) {
    const unsigned at = begin + j * step;
    if (at + table_vector <= elements) {
      store_floats<table_vector>(to + at, vectors[j].element);
    } else {
      for (unsigned i = at; i < elements; ++i) to[i] = narrow<T>(from[i]);
    }
  }
}

/// Whether the table's kernel can do it: fp32 to a half precision, in vectors.
bool fits_table(const CastPair& pair, DType to) {
  return pair.from.type == DType::f32 && pair.to.type == to && size_of(to) == 2 &&
         pair.from.count() <= 0x7fffffffu && aligned_for_vectors({pair.from.data, pair.to.data});
}

void cast_table(const CastTable& table, DType type, cudaStream_t stream) {
  size_t elements = 0;
  for (unsigned i = 0; i < table.count; ++i) elements += table.elements[i];
  const Grid grid = Grid(table.first_tile[table.count]).moving({4 * elements, 2 * elements});
  if (type == DType::f16) {
    launch(cast_table_kernel<Half>, grid, table_threads, 0, stream, table);
  } else {
    launch(cast_table_kernel<Bf16>, grid, table_threads, 0, stream, table);
  }
}

}  // namespace

void cast(const Tensor& from, const Tensor& to, cudaStream_t stream) {
  BRIGHTNET_CHECK(from.shape == to.shape, "cast between unlike shapes");
  if (from.type == to.type) {
    copy_async(to.data, from.data, from.bytes(), stream);
    return;
  }
  with_compute_type(from.type, [&]<typename From>() {
    with_compute_type(to.type, [&]<typename To>() {
      constexpr int count = static_cast<int>(16 / (sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To)));
      for_each_element<count>(from.count(), {from.data, to.data},
                              CastElements<From, To>{from.as<From>(), to.as<To>()}, stream,
                              Traffic{from.bytes(), to.bytes()});
    });
  });
}

void CudaBackend::cast(const Tensor& from, const Tensor& to) {
  cuda::cast(from, to, stream());
}

void CudaBackend::cast_all(std::span<const CastPair> pairs) {
  const DType type = pairs.empty() ? DType::f16 : pairs[0].to.type;
  CastTable table{};
  for (const CastPair& pair : pairs) {
    BRIGHTNET_CHECK(pair.from.shape == pair.to.shape, "cast between unlike shapes");
    const auto elements = static_cast<unsigned>(pair.from.count());
    if (elements == 0) continue;
    if (!fits_table(pair, type)) {
      cast(pair.from, pair.to);
      continue;
    }
    table.from[table.count] = pair.from.as<const float>();
    table.to[table.count] = pair.to.data;
    table.elements[table.count] = elements;
    const unsigned first = table.first_tile[table.count++];
    table.first_tile[table.count] = first + (elements + tile_elements - 1) / tile_elements;
    if (table.count < CastTable::most) continue;
    cast_table(table, type, stream());
    table = {};
  }
  if (table.count > 0) cast_table(table, type, stream());
}

}  // namespace brightnet::cuda
