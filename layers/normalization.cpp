#include "layers/normalization.h"

namespace brightnet {

Normalization::Normalization(Activation activation, const LayerSetup& setup)
    : setup_(setup),
      activation_(activation),
      scale_(parameter("scale")),
      shift_(parameter("shift")),
      running_mean_(parameter("running_mean")),
      running_variance_(parameter("running_variance")) {}

const ParameterEntry* Normalization::parameter(const char* what) const {
  return setup_.parameters.layout->find(setup_.description.name + '.' + what);
}

void Normalization::memory(MemoryList& list) {
  list.saved(mean_, scale_->count * sizeof(float));
  list.saved(inverse_std_, scale_->count * sizeof(float));
}

BatchNormForward Normalization::arguments(const Tensor& y, const Tensor& z) const {
  BatchNormForward norm{.y = y, .z = z};
  norm.scale = value(scale_);
  norm.shift = value(shift_);
  norm.running_mean = value(running_mean_);
  norm.running_variance = value(running_variance_);
  norm.mean = mean_;
  norm.inverse_std = inverse_std_;
  norm.momentum = batch_norm_momentum;
  norm.epsilon = batch_norm_epsilon;
  norm.activation = activation_;
  norm.workspace = workspace_;
  norm.exchange = setup_.statistics;
  return norm;
}

void Normalization::forward(const Tensor& y, const Tensor& z, const Tensor& addend, const float* sums,
                            int sums_pitch) {
  BatchNormForward norm = arguments(y, z);
  norm.addend = addend;
  norm.sums = sums;
  norm.sums_pitch = sums_pitch;
  setup_.backend.batch_norm_forward(norm);
}

void Normalization::recompute(const Tensor& y, const Tensor& z) {
  BatchNormForward norm = arguments(y, z);
  norm.statistics_known = true;
  setup_.backend.batch_norm_forward(norm);
}

void Normalization::backward(const Tensor& y, const Tensor& dz, const Tensor& dy, bool accumulate) {
  BatchNormBackward norm{.y = y, .dz = dz, .dy = dy};
  norm.scale = value(scale_);
  norm.shift = value(shift_);
  norm.mean = mean_;
  norm.inverse_std = inverse_std_;
  norm.scale_gradient = gradient(scale_);
  norm.shift_gradient = gradient(shift_);
  norm.accumulate = accumulate;
  norm.activation = activation_;
  norm.workspace = workspace_;
  norm.exchange = setup_.statistics;
  setup_.backend.batch_norm_backward(norm);
}

}  // namespace brightnet
