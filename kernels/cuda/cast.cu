// Reads and writes every element once. A thread takes as many elements as fill 16 bytes of the wider type, so
// that the narrower side moves 8 bytes at a time: still whole sectors a warp.
//
// cast_all, add_rounded: the pairs are a table among the kernel's arguments (up to 4 KB), so that the working weights
// of a whole network, or the gradients of many layers, take one launch and not one a layer. A block takes a tile of one
// pair; its threads load four vectors before they use the first.
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

/// Arguments of the kernel for many pairs, for one launch.
struct CastTable {
  static constexpr int most = 128;
  const void* from[most];
  void* to[most];
  unsigned elements[most];
  unsigned first_tile[most + 1];  ///< first tile of each pair, and the number of all tiles
  unsigned count;                 ///< number of pairs
};

constexpr int table_threads = 256, table_vector = 4, table_batch = 4;
constexpr unsigned tile_elements = table_threads * table_vector * table_batch;

/// Converts every pair's `from` and writes it or, with `adds`, adds it to its `to`.
template <typename From, typename To, bool adds>
__global__ void __launch_bounds__(table_threads) cast_table_kernel(CastTable table) {
  unsigned pair = 0, end = table.count;  // the last pair whose first tile is not after this one
  while (end - pair > 1) {
    const unsigned middle = (pair + end) / 2;
    (table.first_tile[middle] <= blockIdx.x ? pair : end) = middle;
  }
  const From* const from = static_cast<const From*>(table.from[pair]);
  To* const to = static_cast<To*>(table.to[pair]);
  const unsigned elements = table.elements[pair];
  const unsigned begin = (blockIdx.x - table.first_tile[pair]) * tile_elements + threadIdx.x * table_vector;
  constexpr unsigned step = table_threads * table_vector;
  Vector<From, table_vector> vectors[table_batch] = {};
  [[maybe_unused]] Vector<To, table_vector> before[table_batch] = {};
#pragma unroll
  for (unsigned j = 0; j < table_batch; ++j) {
    const unsigned at = begin + j * step;
    if (at + table_vector > elements) continue;
    vectors[j] = load<table_vector>(from + at);
    if constexpr (adds) before[j] = load<table_vector>(to + at);
  }
#pragma unroll
  for (unsigned j = 0; j < table_batch; ++j) {
    const unsigned at = begin + j * step;
    if (at + table_vector <= elements) {
      float values[table_vector];
#pragma unroll
      for (int k = 0; k < table_vector; ++k) {
        values[k] = widen(vectors[j].element[k]);
        if constexpr (adds) values[k] += widen(before[j].element[k]);
      }
      store_floats<table_vector>(to + at, values);
    } else {
      for (unsigned i = at; i < elements; ++i) {
        float value = widen(from[i]);
        if constexpr (adds) value += widen(to[i]);
        to[i] = narrow<To>(value);
      }
    }
  }
}

/// Whether a pair has these types, and the table's kernel can convert it in vectors.
bool fits_table(const CastPair& pair, DType from, DType to) {
  return pair.from.type == from && pair.to.type == to && pair.from.count() <= 0x7fffffffu &&
         aligned_for_vectors({pair.from.data, pair.to.data});
}

template <typename From, typename To, bool adds>
void launch_table(const CastTable& table, cudaStream_t stream) {
  size_t elements = 0;
  for (unsigned i = 0; i < table.count; ++i) elements += table.elements[i];
  const Traffic traffic{(sizeof(From) + (adds ? sizeof(To) : 0)) * elements, sizeof(To) * elements};
  launch(cast_table_kernel<From, To, adds>, Grid(table.first_tile[table.count]).moving(traffic),
         table_threads, 0, stream, table);
}

/// As few launches as take all pairs of these types that fit a table; `single` is called with each of the others.
template <typename From, typename To, bool adds, typename Single>
void cast_in_tables(std::span<const CastPair> pairs, DType from, DType to, cudaStream_t stream,
                    const Single& single) {
  CastTable table{};
  for (const CastPair& pair : pairs) {
    BRIGHTNET_CHECK(pair.from.shape == pair.to.shape, "cast between unlike shapes");
    const auto elements = static_cast<unsigned>(pair.from.count());
    if (elements == 0) continue;
    if (!fits_table(pair, from, to)) {
      single(pair);
      continue;
    }
    table.from[table.count] = pair.from.data;
    table.to[table.count] = pair.to.data;
    table.elements[table.count] = elements;
    const unsigned first = table.first_tile[table.count++];
    table.first_tile[table.count] = first + (elements + tile_elements - 1) / tile_elements;
    if (table.count < CastTable::most) continue;
    launch_table<From, To, adds>(table, stream);
    table = {};
  }
  if (table.count > 0) launch_table<From, To, adds>(table, stream);
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
  const auto single = [&](const CastPair& pair) { cast(pair.from, pair.to); };
  if (!pairs.empty() && pairs[0].to.type == DType::bf16) {
    cast_in_tables<float, Bf16, false>(pairs, DType::f32, DType::bf16, stream(), single);
  } else {
    cast_in_tables<float, Half, false>(pairs, DType::f32, DType::f16, stream(), single);
  }
}

void CudaBackend::add_rounded(std::span<const CastPair> pairs, bool accumulate) {
  const auto single = [&](const CastPair& pair) {
    BRIGHTNET_CHECK(pair.to.type == DType::f32, "a rounded gradient is added to an fp32 one");
    add_weight_gradient(pair.from, pair.to.as<float>(), accumulate, stream());
  };
  const auto run = [&]<typename From>(DType from) {
    accumulate ? cast_in_tables<From, float, true>(pairs, from, DType::f32, stream(), single)
               : cast_in_tables<From, float, false>(pairs, from, DType::f32, stream(), single);
  };
  if (!pairs.empty() && pairs[0].from.type == DType::bf16) {
    run.template operator()<Bf16>(DType::bf16);
  } else {
    run.template operator()<Half>(DType::f16);
  }
}

}  // namespace brightnet::cuda
