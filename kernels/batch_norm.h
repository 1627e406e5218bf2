// Batch-norm with its activation: what its passes read and write.
#pragma once

#include <cstddef>

#include "core/tensor.h"
#include "kernels/math/activation.h"
#include "kernels/statistics_exchange.h"

namespace brightnet {

/// z = activation(scale · (y − mean) / √(variance + ε) + shift), per channel over n·h·w. z may be a slice.
/// Everything but y and z is fp32, and [c] unless said otherwise.
struct BatchNormForward {
  Tensor y, z;
  const float *scale = nullptr, *shift = nullptr;
  /// Moved towards this batch's: running = (1 − momentum)·running + momentum·batch's.
  float *running_mean = nullptr, *running_variance = nullptr;
  float momentum = 0.1f;
  /// Written for the backward pass.
  float *mean = nullptr, *inverse_std = nullptr;
  /// Σy and Σy², [2][c], where they are known already, else nullptr.
  const float* sums = nullptr;
  /// z is made a second time: mean and inverse_std are read, nothing moves.
  bool statistics_known = false;
  float epsilon = 1e-5f;
  Activation activation = Activation::linear;
  void* workspace = nullptr;
  /// Statistics over all ranks' pixels; nullptr: over these alone.
  StatisticsExchange* exchange = nullptr;
};

/// dy and the parameters' gradients from dz; the activation's argument is recomputed from y. dy may be dz,
/// and dz may be a slice.
struct BatchNormBackward {
  Tensor y, dz, dy;
  const float *scale = nullptr, *shift = nullptr, *mean = nullptr, *inverse_std = nullptr;
  float *scale_gradient = nullptr, *shift_gradient = nullptr;
  /// The parameters' gradients are added to what is there.
  bool accumulate = true;
  /// Running statistics were used: mean and inverse_std are constants.
  bool frozen = false;
  Activation activation = Activation::linear;
  void* workspace = nullptr;
  /// As in the forward pass: dy then flows through statistics of all ranks' pixels. The parameters' gradients
  /// are yet to be summed over the ranks, like every gradient: what a rank gets is its own pixels' share, or
  /// the first rank gets the sum over all and the others zero, as the device finds it easier.
  StatisticsExchange* exchange = nullptr;
};

/// w' = w · scale/√(variance + ε) and b' = shift − mean · scale/√(variance + ε), per output channel: the
/// convolution that does what convolution and batch-norm with running statistics do.
struct BatchNormFold {
  const float *weight, *scale, *shift, *running_mean, *running_variance;
  float epsilon;
  int channels;
  size_t weights_per_channel;
  float *folded_weight, *folded_bias;
};

}  // namespace brightnet
