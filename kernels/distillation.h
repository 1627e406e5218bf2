// Arguments of the losses of a network against its teacher (kernels/math/distillation.h).
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/tensor.h"
#include "kernels/math/distillation.h"
#include "kernels/yolo.h"

namespace brightnet {

/// Operands of one loss; `gradient` is that of the student's output. All three tensors are of one compute
/// type; the arithmetic is fp32, sums are fp64.
struct DistillationPass {
  Tensor student, teacher, gradient;
  float weight = 1;  ///< weight of this loss
  GradientScale scale;
  LossTotals* totals = nullptr;  ///< weight · loss is added to its `distillation`; device memory or nullptr
  void* workspace = nullptr;
};

/// Most blocks of a GPU's pass over predictions.
constexpr unsigned most_distillation_blocks = 1024;

/// Bytes of workspace that any of these passes takes for an output of this shape.
inline size_t distillation_workspace(const Shape& output) {
  const size_t rows = output.n * static_cast<size_t>(output.h);
  return std::max<size_t>({rows, 2 * static_cast<size_t>(output.n), most_distillation_blocks}) *
         sizeof(double);
}

/// The check of arguments with which every backend begins.
void check_distillation(const DistilledHeads& heads, const DistillationPass& pass);
void check_distillation(const DistillationPass& pass);

}  // namespace brightnet
