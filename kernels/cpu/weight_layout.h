// Conversion of convolution weights between the masters' OHWI and oneDNN's blocked layouts.
#pragma once

#include <vector>

#include "core/dtype.h"
#include "kernels/cpu/onednn.h"

namespace brightnet::cpu {

/// A blocked layout: output_block × input_block weights of one kernel position are contiguous, in the order
/// of `inside`; strides are in elements. Outputs and inputs are padded with zeros to whole blocks.
struct WeightLayout {
  int outputs = 0, inputs = 0, kernel = 0;  ///< channels and the side of the kernel, without padding
  int output_blocks = 0, input_blocks = 0;  ///< numbers of blocks
  int output_block = 1, input_block = 1;    ///< channels of a block
  size_t output_stride = 0, input_stride = 0, row_stride = 0, column_stride = 0;
  std::vector<int> inside;  ///< [output · input_block + input] → place in the block

  /// Reads the layout from a descriptor of OIHW weights.
  explicit WeightLayout(const dnnl::memory::desc& desc);
};

/// Fills blocked weights of `type` (f32 or bf16) from fp32 OHWI ones.
void pack_weights(const WeightLayout& layout, const float* ohwi, DType type, void* blocked);
/// Converts blocked fp32 gradients to OHWI: overwrites the OHWI ones or adds to them.
void unpack_weights(const WeightLayout& layout, const float* blocked, float* ohwi, bool accumulate);

}  // namespace brightnet::cpu
