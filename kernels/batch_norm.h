// Arguments of batch-norm fused with its activation.
#pragma once

#include <cstddef>

#include "core/tensor.h"
#include "kernels/math/activation.h"
#include "kernels/statistics_exchange.h"

namespace brightnet {

/// z = activation(scale · (y − mean) / √(variance + ε) + shift) + addend, per channel over n·h·w. y and z may be
/// slices. Everything but y, z and the addend is fp32, and [c] unless said otherwise.
struct BatchNormForward {
  Tensor y, z;
  Tensor addend{};  ///< a shortcut's other input, dense and of y's shape; none: nothing is added
  const float *scale = nullptr, *shift = nullptr;
  /// The running statistics: running = (1 − momentum)·running + momentum·batch's.
  float *running_mean = nullptr, *running_variance = nullptr;
  float momentum = 0.1f;
  /// The batch's statistics, written for the backward pass.
  float *mean = nullptr, *inverse_std = nullptr;
  /// Σy and Σy² if already computed, else nullptr: two rows of c that begin `sums_pitch` apart (0: c).
  const float* sums = nullptr;
  int sums_pitch = 0;
  /// Recomputes z: mean and inverse_std are inputs, and the running statistics do not change.
  bool statistics_known = false;
  float epsilon = 1e-5f;
  Activation activation = Activation::linear;
  void* workspace = nullptr;
  /// Makes the statistics those over all ranks' pixels; nullptr: over this rank's alone.
  StatisticsExchange* exchange = nullptr;
};

/// dy and the parameters' gradients from dz; the activation's input is recomputed from y. dy may be dz or y. All may
/// be slices, of y and dy alike.
struct BatchNormBackward {
  Tensor y, dz, dy;
  const float *scale = nullptr, *shift = nullptr, *mean = nullptr, *inverse_std = nullptr;
  float *scale_gradient = nullptr, *shift_gradient = nullptr;
  /// Adds to the parameters' gradients instead of overwriting them.
  bool accumulate = true;
  /// True where running statistics were used: mean and inverse_std are constants.
  bool frozen = false;
  Activation activation = Activation::linear;
  void* workspace = nullptr;
  /// Sums over all ranks' pixels, as in the forward pass: dy is then the gradient through the statistics of
  /// all of them. The parameters' gradients still need the all-reduce over ranks, like every gradient: a
  /// device may leave each rank's own sum, or the total on rank 0 and zero elsewhere.
  StatisticsExchange* exchange = nullptr;
};

/// Folds batch-norm with running statistics into the preceding convolution, per output channel:
/// w' = w · scale/√(variance + ε) and b' = shift − mean · scale/√(variance + ε).
struct BatchNormFold {
  const float *weight, *scale, *shift, *running_mean, *running_variance;
  float epsilon;
  int channels;
  size_t weights_per_channel;
  float *folded_weight, *folded_bias;
};

}  // namespace brightnet
