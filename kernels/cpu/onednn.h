// The differences between oneDNN 2.6 (Debian 12) and 3.x: descriptions of primitives and queries of layouts.
#pragma once

#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

namespace brightnet::onednn {

/// The memory descriptors and geometry of one convolution; `bias` may be an empty descriptor.
struct ConvolutionGeometry {
  dnnl::memory::desc source, weights, bias, destination;
  dnnl::memory::dims strides, padding;
};

/// A blocked memory layout: strides of the outer blocks, and the nested inner blocks as (dimension, size),
/// outermost first.
struct Blocking {
  dnnl::memory::dims dims, padded_dims, strides;
  std::vector<std::pair<int, dnnl::memory::dim>> inner;
};

#if DNNL_VERSION_MAJOR >= 3

inline Blocking blocking_of(const dnnl::memory::desc& desc) {
  Blocking blocking{desc.get_dims(), desc.get_padded_dims(), desc.get_strides(), {}};
  const auto sizes = desc.get_inner_blks(), dimensions = desc.get_inner_idxs();
  for (int i = 0; i < desc.get_inner_nblks(); ++i) {
    blocking.inner.emplace_back(static_cast<int>(dimensions[i]), sizes[i]);
  }
  return blocking;
}

inline dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine, bool training,
                                                         const ConvolutionGeometry& g,
                                                         const dnnl::primitive_attr& attr) {
  const auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  return {engine,        kind,      dnnl::algorithm::convolution_direct,
          g.source,      g.weights, g.bias,
          g.destination, g.strides, g.padding,
          g.padding,     attr};
}

/// `Convolution` is dnnl::convolution_backward_data or dnnl::convolution_backward_weights.
template <typename Convolution>
typename Convolution::primitive_desc backward(const dnnl::engine& engine, const ConvolutionGeometry& g,
                                              const dnnl::convolution_forward::primitive_desc& hint,
                                              const dnnl::primitive_attr& attr) {
  return {engine,        dnnl::algorithm::convolution_direct,
          g.source,      g.weights,
          g.destination, g.strides,
          g.padding,     g.padding,
          hint,          attr};
}

inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha) {
  ops.append_eltwise(algorithm, alpha, 0.0f);
}

#else

inline Blocking blocking_of(const dnnl::memory::desc& desc) {
  const auto& data = desc.data;
  const auto& format = data.format_desc.blocking;
  const auto first = [&](const dnnl_dim_t* values) {
    return dnnl::memory::dims(values, values + data.ndims);
  };
  Blocking blocking{first(data.dims), first(data.padded_dims), first(format.strides), {}};
  for (int i = 0; i < format.inner_nblks; ++i) {
    blocking.inner.emplace_back(static_cast<int>(format.inner_idxs[i]), format.inner_blks[i]);
  }
  return blocking;
}

inline dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine, bool training,
                                                         const ConvolutionGeometry& g,
                                                         const dnnl::primitive_attr& attr) {
  const auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::convolution_forward::desc desc(kind, dnnl::algorithm::convolution_direct, g.source, g.weights,
                                             g.bias, g.destination, g.strides, g.padding, g.padding);
  return {desc, attr, engine};
}

template <typename Convolution>
typename Convolution::primitive_desc backward(const dnnl::engine& engine, const ConvolutionGeometry& g,
                                              const dnnl::convolution_forward::primitive_desc& hint,
                                              const dnnl::primitive_attr& attr) {
  const typename Convolution::desc desc(dnnl::algorithm::convolution_direct, g.source, g.weights,
                                        g.destination, g.strides, g.padding, g.padding);
  return {desc, attr, engine, hint};
}

inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha) {
  ops.append_eltwise(1.0f, algorithm, alpha, 0.0f);
}

#endif

inline constexpr auto& backward_data = backward<dnnl::convolution_backward_data>;
inline constexpr auto& backward_weights = backward<dnnl::convolution_backward_weights>;

}  // namespace brightnet::onednn
