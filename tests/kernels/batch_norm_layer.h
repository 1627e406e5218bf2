// A batch-norm layer on the tested device, and what it computes in fp64.
#pragma once

#include "tests/kernels/reference.h"

namespace brightnet::testing {

inline double activation_in_fp64(Activation activation, double v) {
  const double sigmoid = 1 / (1 + std::exp(-v));
  switch (activation) {
    case Activation::relu: return std::max(v, 0.0);
    case Activation::leaky: return v > 0 ? v : 0.1 * v;
    case Activation::mish: return v * std::tanh(std::log1p(std::exp(v)));
    case Activation::swish: return v * sigmoid;
    case Activation::logistic: return sigmoid;
    case Activation::hardswish: return v * std::clamp(v + 3, 0.0, 6.0) / 6;
    default: return v;
  }
}

struct BatchNormReference {
  std::vector<double> z, mean, variance;
};

inline BatchNormReference forward_in_fp64(const std::vector<double>& y, const std::vector<double>& scale,
                                          const std::vector<double>& shift, Activation activation,
                                          double epsilon) {
  const size_t channels = scale.size(), pixels = y.size() / channels;
  BatchNormReference r{std::vector<double>(y.size()), std::vector<double>(channels),
                       std::vector<double>(channels)};
  for (size_t i = 0; i < y.size(); ++i) r.mean[i % channels] += y[i] / pixels;
  for (size_t i = 0; i < y.size(); ++i)
    r.variance[i % channels] += std::pow(y[i] - r.mean[i % channels], 2) / pixels;
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = i % channels;
    r.z[i] = activation_in_fp64(
        activation, scale[c] * (y[i] - r.mean[c]) / std::sqrt(r.variance[c] + epsilon) + shift[c]);
  }
  return r;
}

inline OwnedTensor channel_vector(int channels) {
  return OwnedTensor({1, 1, 1, channels});
}

/// Memory for the workspace of the channels' sums.
inline OwnedTensor workspace_for(const Shape& shape) {
  return OwnedTensor({1, 1, 1, static_cast<int>(device().channel_workspace(shape) / sizeof(float) + 1)});
}

/// A layer's tensors, and its two passes.
struct BatchNormLayer {
  Shape shape;
  Activation activation;
  OwnedTensor y, scale, shift, running_mean, running_variance, mean, inverse_std, dscale, dshift, workspace;
  float epsilon = 1e-5f;
  StatisticsExchange* exchange = nullptr;
  Tensor addend{};  ///< of the forward pass

  BatchNormLayer(const Shape& shape, Activation activation, DType type, float spread = 2, float offset = 5)
      : shape(shape),
        activation(activation),
        y(shape, type),
        scale(channel_vector(shape.c)),
        shift(channel_vector(shape.c)),
        running_mean(channel_vector(shape.c)),
        running_variance(channel_vector(shape.c)),
        mean(channel_vector(shape.c)),
        inverse_std(channel_vector(shape.c)),
        dscale(channel_vector(shape.c)),
        dshift(channel_vector(shape.c)),
        workspace(workspace_for(shape)) {
    y.randomize(1, spread, offset);
    scale.randomize(2, 0.3f, 1.0f);
    shift.randomize(3);
    forget();
    dscale.fill(7);
    dshift.fill(7);
  }

  /// Resets the running statistics.
  void forget() {
    running_mean.fill(1);
    running_variance.fill(2);
  }

  void forward(const Tensor& z, const float* sums = nullptr, bool statistics_known = false) {
    forward_of(*y, z, sums, 0, statistics_known);
  }
  /// Of another y.
  void forward_of(const Tensor& of, const Tensor& z, const float* sums, int sums_pitch,
                  bool statistics_known = false) {
    BatchNormForward op{.y = of, .z = z, .addend = addend};
    op.sums = sums;
    op.sums_pitch = sums_pitch;
    op.statistics_known = statistics_known;
    op.scale = scale.floats();
    op.shift = shift.floats();
    op.running_mean = running_mean.floats();
    op.running_variance = running_variance.floats();
    op.mean = mean.floats();
    op.inverse_std = inverse_std.floats();
    op.momentum = 0.25f;
    op.epsilon = epsilon;
    op.activation = activation;
    op.workspace = (*workspace).data;
    op.exchange = exchange;
    device().batch_norm_forward(op);
  }

  void backward(const Tensor& dz, const Tensor& dy, bool accumulate = false, bool frozen = false) {
    backward_of(*y, dz, dy, accumulate, frozen);
  }
  void backward_of(const Tensor& of, const Tensor& dz, const Tensor& dy, bool accumulate = false,
                   bool frozen = false) {
    BatchNormBackward op{.y = of, .dz = dz, .dy = dy};
    op.scale = scale.floats();
    op.shift = shift.floats();
    op.mean = mean.floats();
    op.inverse_std = inverse_std.floats();
    op.scale_gradient = dscale.floats();
    op.shift_gradient = dshift.floats();
    op.accumulate = accumulate;
    op.frozen = frozen;
    op.activation = activation;
    op.workspace = (*workspace).data;
    op.exchange = exchange;
    device().batch_norm_backward(op);
  }

  BatchNormReference reference() const {
    return forward_in_fp64(y.values(), scale.values(), shift.values(), activation, epsilon);
  }
};

}  // namespace brightnet::testing
