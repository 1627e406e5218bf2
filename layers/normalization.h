// Batch-norm by the batch's statistics and the activation after it: what follows the convolution in a layer that
// trains (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// z = activation(batch_norm(y)). Keeps the batch's statistics for the backward pass; y is kept by the layer. y, its
/// gradient and z may be slices.
class Normalization {
 public:
  /// Has the parameters of the layer that `setup` makes, which outlives this object.
  Normalization(Activation activation, const LayerSetup& setup);

  void memory(MemoryList& list);
  /// Sets the workspace of each call, of Backend::channel_workspace() bytes.
  void use(void* workspace) { workspace_ = workspace; }

  /// `sums`, if any, and their pitch: see BatchNormForward. An addend is added to z.
  void forward(const Tensor& y, const Tensor& z, const Tensor& addend, const float* sums, int sums_pitch = 0);
  /// Recomputes z from the statistics that are kept.
  void recompute(const Tensor& y, const Tensor& z);
  /// Computes dy and the parameters' gradients from dz. dy may be dz or y.
  void backward(const Tensor& y, const Tensor& dz, const Tensor& dy, bool accumulate);

 private:
  const ParameterEntry* parameter(const char* what) const;
  float* value(const ParameterEntry* entry) const { return setup_.parameters.values + entry->offset; }
  float* gradient(const ParameterEntry* entry) const { return setup_.parameters.gradients + entry->offset; }
  BatchNormForward arguments(const Tensor& y, const Tensor& z) const;

  const LayerSetup& setup_;
  const Activation activation_;
  const ParameterEntry *scale_, *shift_, *running_mean_, *running_variance_;
  float *mean_ = nullptr, *inverse_std_ = nullptr;
  void* workspace_ = nullptr;
};

}  // namespace brightnet
