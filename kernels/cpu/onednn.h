// The differences between oneDNN 2.6 (Debian 12) and 3.x: descriptions of primitives, queries of layouts, and scales.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/convolution.h"

namespace brightnet::onednn {

inline dnnl::engine& engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

inline dnnl::stream& stream() {
  static dnnl::stream instance(engine());
  return instance;
}

/// The memory descriptors and geometry of one convolution; `bias` may be an empty descriptor.
struct ConvolutionGeometry {
  dnnl::memory::desc source, weights, bias, destination;
  dnnl::memory::dims strides, padding;
};

/// Whether oneDNN may use the instructions of `isa` here.
inline bool has_instructions(dnnl::cpu_isa isa) {
  const auto usable = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (usable & static_cast<unsigned>(isa)) == static_cast<unsigned>(isa);
}

/// Attributes of a primitive whose caller provides its scratch memory.
inline dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// A blocked memory layout: strides of the outer blocks, and the nested inner blocks as (dimension, size),
/// outermost first.
struct Blocking {
  dnnl::memory::dims dims, padded_dims, strides;
  std::vector<std::pair<int, dnnl::memory::dim>> inner;
};

/// An element-wise operation that follows another primitive's.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha;
};

/// The activation, if oneDNN computes it while it writes the convolution's result; else it is applied in one more pass.
/// In 16 and 8 bits oneDNN 2.6 fails to make most convolutions of narrow groups that end in an exponential.
inline std::optional<Eltwise> fused_activation(const ConvolutionSpec& spec) {
  const bool grouped = spec.groups > 1 && spec.group_inputs() > 1;
  const bool exponentials = !grouped || (spec.type == DType::f32 && !spec.quantized);
  switch (spec.activation) {
    case Activation::relu: return Eltwise{dnnl::algorithm::eltwise_relu, 0.0f};
    case Activation::leaky: return Eltwise{dnnl::algorithm::eltwise_relu, 0.1f};
    case Activation::mish:
      if (exponentials) return Eltwise{dnnl::algorithm::eltwise_mish, 0.0f};
      break;
    case Activation::swish:
      if (exponentials) return Eltwise{dnnl::algorithm::eltwise_swish, 1.0f};
      break;
    case Activation::logistic:
      if (exponentials) return Eltwise{dnnl::algorithm::eltwise_logistic, 0.0f};
      break;
    default: break;
  }
  return std::nullopt;
}

#if DNNL_VERSION_MAJOR >= 3

inline Blocking blocking_of(const dnnl::memory::desc& desc) {
  Blocking blocking{desc.get_dims(), desc.get_padded_dims(), desc.get_strides(), {}};
  const auto sizes = desc.get_inner_blks(), dimensions = desc.get_inner_idxs();
  for (int i = 0; i < desc.get_inner_nblks(); ++i) {
    blocking.inner.emplace_back(static_cast<int>(dimensions[i]), sizes[i]);
  }
  return blocking;
}

inline dnnl::convolution_forward::primitive_desc forward(
    const dnnl::engine& engine, bool training, const ConvolutionGeometry& g, const dnnl::primitive_attr& attr,
    dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct) {
  const auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  return {engine,        kind,      algorithm, g.source,  g.weights, g.bias,
          g.destination, g.strides, g.padding, g.padding, attr};
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

inline void append_eltwise(dnnl::post_ops& ops, const Eltwise& eltwise) {
  ops.append_eltwise(eltwise.algorithm, eltwise.alpha, 0.0f);
}

// Scales and zero points are arguments of each call; the bias is added to the scaled sums.
class ConvolutionScales {
 public:
  ConvolutionScales(const QuantizedConvolution& quantized, int groups)
      : weight_mask_(groups > 1 ? 3 : 1),
        source_scale_(scalar(quantized.input.scale)),
        weight_scales_(values(quantized.weight_scales)),
        source_zero_(scalar<int32_t>(quantized.input.zero_point)) {
    if (!quantized.output) return;
    destination_scale_ = scalar(quantized.output->scale);
    destination_zero_ = scalar<int32_t>(quantized.output->zero_point);
  }

  void describe(dnnl::primitive_attr& attr, const std::optional<Eltwise>& activation) const {
    attr.set_scales_mask(DNNL_ARG_SRC, 0);
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, weight_mask_);
    attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    if (destination_scale_) {
      attr.set_scales_mask(DNNL_ARG_DST, 0);
      attr.set_zero_points_mask(DNNL_ARG_DST, 0);
    }
    dnnl::post_ops ops;
    if (activation) append_eltwise(ops, *activation);
    attr.set_post_ops(ops);
  }

  void add_arguments(std::unordered_map<int, dnnl::memory>& arguments) const {
    arguments[DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC] = source_scale_;
    arguments[DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS] = weight_scales_;
    arguments[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC] = source_zero_;
    if (!destination_scale_) return;
    arguments[DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST] = destination_scale_;
    arguments[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST] = destination_zero_;
  }

  /// The factor on the bias of an output channel.
  float bias_factor(size_t) const { return 1.0f; }

 private:
  template <typename T>
  static dnnl::memory filled(const T* from, size_t count) {
    const auto type = std::is_same_v<T, float> ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::s32;
    dnnl::memory memory({{static_cast<dnnl::memory::dim>(count)}, type, dnnl::memory::format_tag::x},
                        engine());
    std::copy(from, from + count, static_cast<T*>(memory.get_data_handle()));
    return memory;
  }
  static dnnl::memory values(const std::vector<float>& from) { return filled(from.data(), from.size()); }
  template <typename T>
  static dnnl::memory scalar(T value) {
    return filled(&value, 1);
  }

  int weight_mask_;
  dnnl::memory source_scale_, weight_scales_, source_zero_, destination_scale_, destination_zero_;
};

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

inline dnnl::convolution_forward::primitive_desc forward(
    const dnnl::engine& engine, bool training, const ConvolutionGeometry& g, const dnnl::primitive_attr& attr,
    dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct) {
  const auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::convolution_forward::desc desc(kind, algorithm, g.source, g.weights, g.bias, g.destination,
                                             g.strides, g.padding, g.padding);
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

inline void append_eltwise(dnnl::post_ops& ops, const Eltwise& eltwise, float factor = 1.0f) {
  ops.append_eltwise(factor, eltwise.algorithm, eltwise.alpha, 0.0f);
}

// Scales and zero points belong to the description. The bias is added to the unscaled sums, and what comes last is
// multiplied by one over the destination's scale: the activation, or the sums themselves.
class ConvolutionScales {
 public:
  ConvolutionScales(const QuantizedConvolution& quantized, int /*groups*/) : quantized_(quantized) {}

  void describe(dnnl::primitive_attr& attr, const std::optional<Eltwise>& activation) const {
    const float last = quantized_.output ? 1.0f / quantized_.output->scale : 1.0f;
    std::vector<float> scales(quantized_.weight_scales.size());
    for (size_t c = 0; c < scales.size(); ++c)
      scales[c] = quantized_.input.scale * quantized_.weight_scales[c] * (activation ? 1.0f : last);
    attr.set_output_scales(2, scales);
    attr.set_zero_points(DNNL_ARG_SRC, 0, {quantized_.input.zero_point});
    if (quantized_.output) attr.set_zero_points(DNNL_ARG_DST, 0, {quantized_.output->zero_point});
    dnnl::post_ops ops;
    if (activation) append_eltwise(ops, *activation, last);
    attr.set_post_ops(ops);
  }

  void add_arguments(std::unordered_map<int, dnnl::memory>&) const {}

  /// The factor on the bias of an output channel.
  float bias_factor(size_t channel) const {
    return 1.0f / (quantized_.input.scale * quantized_.weight_scales[channel]);
  }

 private:
  QuantizedConvolution quantized_;
};

#endif

/// A forward pass for inference by Winograd's algorithm, if oneDNN has it for these operands on this CPU.
inline std::optional<dnnl::convolution_forward::primitive_desc> winograd(const ConvolutionGeometry& g) {
  try {
    return forward(engine(), false, g, user_scratchpad(), dnnl::algorithm::convolution_winograd);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
    return std::nullopt;
  }
}

inline constexpr auto& backward_data = backward<dnnl::convolution_backward_data>;
inline constexpr auto& backward_weights = backward<dnnl::convolution_backward_weights>;

}  // namespace brightnet::onednn
