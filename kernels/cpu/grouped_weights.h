// Conversion of a grouped convolution's weights by oneDNN's reorders. They are a few thousand numbers: what makes
// these reorders slow for a large convolution (kernels/cpu/weight_layout.cpp) does not matter here.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// Groups, outputs and inputs of a group, and the kernel's sides, as oneDNN describes them.
dnnl::memory::dims grouped_weight_dims(const ConvolutionSpec& spec);

/// Converts weights between fp32 OHWI masters (I: the inputs of a group) and one layout of oneDNN's.
class GroupedWeights {
 public:
  GroupedWeights(const ConvolutionSpec& spec, const dnnl::memory::desc& desc, const dnnl::engine& engine);

  /// Fills weights of the layout and its type from OHWI ones.
  void pack(const float* ohwi, void* blocked, dnnl::stream& stream);
  /// Converts weights of the layout to OHWI: overwrites those that are there or adds to them.
  void unpack(void* blocked, float* ohwi, bool accumulate, dnnl::stream& stream);

 private:
  dnnl::memory masters_, blocked_;
  dnnl::reorder pack_, unpack_, add_;
};

}  // namespace brightnet::cpu
