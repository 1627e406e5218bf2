// Convolution → batch-norm → activation as one layer (private to layers/).
#pragma once

#include <memory>
#include <optional>

#include "layers/normalization.h"

namespace brightnet {

/// y = convolution(x, weight); output = activation(batch_norm(y)), or activation(y + bias) without
/// batch-norm. Keeps y and the batch's statistics for the backward pass and recomputes the rest from them.
/// For inference the batch-norm is folded into the weights and the activation fused into the convolution; so
/// it is in training for a frozen layer that no gradient passes through. A frozen layer that passes a
/// gradient on has its batch-norm folded and applies its activation separately.
///
/// With `precision: fp32` in a network of 16-bit activations its arithmetic, its working weights and what it keeps for
/// the backward pass are fp32: its input is widened and its output rounded, and so are their gradients. That costs their
/// memory and four casts.
class ConvolutionLayer : public Layer {
 public:
  ConvolutionLayer(const ConvAttributes& conv, const LayerSetup& setup);

  void memory(MemoryList& list) override;
  void bound() override;
  bool backward_reads_inputs() const override { return trains_; }
  double flops() const override { return spec_.flops(); }
  const ConvolutionSpec* convolution() const override { return &spec_; }
  std::string implementation() const override { return convolution_->description(); }

  CastPair weight_cast() const override;
  void prepare() override;
  void forward(const LayerCall& call) override;
  void rebuild(const Tensor& output) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;
  void append_rounded_gradients(std::vector<CastPair>& pairs) const override;

 private:
  /// Whether the convolution's output is kept in addition to the layer's.
  bool keeps_output() const {
    return passes_gradient_ && (norm_ || attributes_.activation != Activation::linear);
  }
  /// Whether its gradient is written apart from the output's.
  bool keeps_output_gradient() const { return setup().output_in_concat || setup().output_in_shortcut; }
  Tensor convolution_output(const Tensor& output) const;
  void run_forward(const LayerCall& call);
  void run_backward(const LayerCall& call, bool accumulate_parameters);
  const ConvAttributes attributes_;
  const bool widens_;           ///< computes in fp32 though its input and output are in 16 bits
  const bool trains_;           ///< the parameters have gradients
  const bool passes_gradient_;  ///< backward() will be called
  const bool folds_;            ///< batch-norm with running statistics, folded into the weights
  ConvolutionSpec spec_;
  std::unique_ptr<Convolution> convolution_;
  std::optional<Normalization> norm_;  ///< by the batch's statistics
  const ParameterEntry *weight_ = nullptr, *bias_ = nullptr;
  Tensor kept_output_;
  float *folded_weight_ = nullptr, *folded_bias_ = nullptr;
  void *weights_ = nullptr, *rounded_gradient_ = nullptr;
  Tensor dense_gradient_;  ///< of an output whose own must not be overwritten
  Tensor added_gradient_;  ///< of an input that another consumer has one of
  /// In fp32; the output holds its gradient as well.
  Tensor wide_input_, wide_output_, wide_input_gradient_;
  void* workspace_ = nullptr;  ///< the convolution's, and batch-norm's
  size_t workspace_bytes_ = 0;
};

/// dx = or += the gradient of a convolution's input. `part`, of dx's size, is used where the device cannot add.
void write_input_gradient(Backend& backend, Convolution& convolution, const Tensor& dy, const Tensor& dx,
                          bool accumulate, const Tensor& part);

}  // namespace brightnet
