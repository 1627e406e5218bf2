// What is done to the weights before they are quantised.
#pragma once

#include <span>
#include <vector>

#include "formats/weights.h"

namespace brightnet {

/// Returns the same network without batch-norm: each convolution has a bias.
TrainedModel without_batch_norm(const TrainedModel& trained, Backend& backend);

/// Cross-layer equalisation (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias Correction",
/// equations 9 to 11): where one convolution alone reads another, whose activation f has f(s·x) = s·f(x), channel i between
/// them is divided by s_i = sqrt(r1_i / r2_i) and the next one's weights multiplied by it, r1_i and r2_i the greatest
/// magnitudes of the channel's weights in both; until nothing changes. For a network without batch-norm. Returns the number
/// of pairs.
int equalize(TrainedModel& trained);

/// Returns a convolution's scales: the greatest magnitude of each output channel's weights over 127, but no less than what lets
/// its bias be counted in 32 bits, in units of this scale times that of the input.
std::vector<float> weight_scales(const TrainedModel& trained, int layer, float input_scale);

/// The mean value that each weight of a convolution is multiplied by, over images and output pixels; padding counts as 0.
class InputMeans {
 public:
  /// Adds one more batch of the inputs of the convolution.
  void add(const ConvAttributes& conv, const Tensor& x);
  double of(int row, int column, size_t channel) const {
    return sums_[(row * kernel_ + column) * channels_ + channel] / outputs_;
  }

 private:
  int kernel_ = 0;
  size_t channels_ = 0;
  double outputs_ = 0;
  std::vector<double> sums_;
};

/// The biases of a convolution without batch-norm.
std::span<float> biases_of(TrainedModel& trained, int layer);

/// Bias correction (the same paper, section 4.2): rounding to these scales changes the mean of an output channel by
/// Σ (w̃ − w) · E[x], which is subtracted from its bias.
void correct_bias(TrainedModel& trained, int layer, const std::vector<float>& scales,
                  const InputMeans& means);

}  // namespace brightnet
