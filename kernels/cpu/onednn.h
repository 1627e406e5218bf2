// What differs between oneDNN 2.6 (Debian 12) and 3.x, and nothing else: how a primitive is described.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace brightnet::onednn {

/// The memory descriptors and geometry of one convolution; `bias` may be an empty descriptor.
struct ConvolutionGeometry {
  dnnl::memory::desc source, weights, bias, destination;
  dnnl::memory::dims strides, padding;
};

#if DNNL_VERSION_MAJOR >= 3

inline dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine, bool training,
                                                         const ConvolutionGeometry& g,
                                                         const dnnl::primitive_attr& attr) {
  const auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  return {engine,        kind,      dnnl::algorithm::convolution_direct,
          g.source,      g.weights, g.bias,
          g.destination, g.strides, g.padding,
          g.padding,     attr};
}

inline dnnl::convolution_backward_data::primitive_desc backward_data(
    const dnnl::engine& engine, const ConvolutionGeometry& g,
    const dnnl::convolution_forward::primitive_desc& hint, const dnnl::primitive_attr& attr) {
  return {engine,        dnnl::algorithm::convolution_direct,
          g.source,      g.weights,
          g.destination, g.strides,
          g.padding,     g.padding,
          hint,          attr};
}

inline dnnl::convolution_backward_weights::primitive_desc backward_weights(
    const dnnl::engine& engine, const ConvolutionGeometry& g,
    const dnnl::convolution_forward::primitive_desc& hint, const dnnl::primitive_attr& attr) {
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

inline dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine, bool training,
                                                         const ConvolutionGeometry& g,
                                                         const dnnl::primitive_attr& attr) {
  const auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::convolution_forward::desc desc(kind, dnnl::algorithm::convolution_direct, g.source, g.weights,
                                             g.bias, g.destination, g.strides, g.padding, g.padding);
  return {desc, attr, engine};
}

inline dnnl::convolution_backward_data::primitive_desc backward_data(
    const dnnl::engine& engine, const ConvolutionGeometry& g,
    const dnnl::convolution_forward::primitive_desc& hint, const dnnl::primitive_attr& attr) {
  const dnnl::convolution_backward_data::desc desc(dnnl::algorithm::convolution_direct, g.source, g.weights,
                                                   g.destination, g.strides, g.padding, g.padding);
  return {desc, attr, engine, hint};
}

inline dnnl::convolution_backward_weights::primitive_desc backward_weights(
    const dnnl::engine& engine, const ConvolutionGeometry& g,
    const dnnl::convolution_forward::primitive_desc& hint, const dnnl::primitive_attr& attr) {
  const dnnl::convolution_backward_weights::desc desc(dnnl::algorithm::convolution_direct, g.source,
                                                      g.weights, g.destination, g.strides, g.padding,
                                                      g.padding);
  return {desc, attr, engine, hint};
}

inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha) {
  ops.append_eltwise(1.0f, algorithm, alpha, 0.0f);
}

#endif

}  // namespace brightnet::onednn
