#include "kernels/cpu/grouped_weights.h"

namespace brightnet::cpu {
namespace {

using dnnl::memory;

/// OHWI with the outputs divided into groups.
memory::desc masters_of(const ConvolutionSpec& spec) {
  const memory::dims dims = grouped_weight_dims(spec);
  const memory::dim inputs = dims[2], kernel = spec.kernel, output = kernel * kernel * inputs;
  return {dims, memory::data_type::f32, {dims[1] * output, output, 1, kernel * inputs, inputs}};
}

dnnl::reorder adding(const memory& from, const memory& to) {
  dnnl::post_ops sum;
  sum.append_sum(1.0f);
  dnnl::primitive_attr attr;
  attr.set_post_ops(sum);
  return dnnl::reorder(from, to, attr);
}

}  // namespace

memory::dims grouped_weight_dims(const ConvolutionSpec& spec) {
  return {spec.groups, spec.output.c / spec.groups, spec.group_inputs(), spec.kernel, spec.kernel};
}

GroupedWeights::GroupedWeights(const ConvolutionSpec& spec, const memory::desc& desc,
                               const dnnl::engine& engine)
    : masters_(masters_of(spec), engine, nullptr),
      blocked_(desc, engine, nullptr),
      pack_(masters_, blocked_),
      unpack_(blocked_, masters_),
      add_(adding(blocked_, masters_)) {}

void GroupedWeights::pack(const float* ohwi, void* blocked, dnnl::stream& stream) {
  masters_.set_data_handle(const_cast<float*>(ohwi));
  blocked_.set_data_handle(blocked);
  pack_.execute(stream, masters_, blocked_);
}

void GroupedWeights::unpack(void* blocked, float* ohwi, bool accumulate, dnnl::stream& stream) {
  masters_.set_data_handle(ohwi);
  blocked_.set_data_handle(blocked);
  (accumulate ? add_ : unpack_).execute(stream, blocked_, masters_);
}

}  // namespace brightnet::cpu
