// Convolution → batch-norm → activation as one layer (private to layers/).
#pragma once

#include <memory>
#include <optional>

#include "layers/normalization.h"

namespace brightnet {

/// The common part of convolution layers, and what the network asks of them alone: layers with a convolution
/// of their own (convolution.cpp), and pairs of layers that share one (twin_convolutions.cpp).
class ConvolutionLayer : public Layer {
 public:
  /// The convolution that this layer's calls run; nullptr where the calls of the layer before run it.
  const ConvolutionSpec* spec() const { return convolution_ ? &spec_ : nullptr; }
  /// The chosen implementation, for `bench`.
  std::string implementation() const {
    return convolution_ ? convolution_->description() : "with the layer before";
  }

  void memory(MemoryList& list) override;
  void bound() override;
  bool backward_reads_inputs() const override {
    return convolution_ && (trains_ || (passes_gradient_ && setup().simulates_int8));
  }

  /// Chooses the convolution's implementations for these calls: see Convolution::choose(). The backward call has no
  /// tensors where it is never made.
  void expect(const LayerCall& forward, const LayerCall& backward) const {
    if (convolution_) convolution_->expect(tensors(forward, backward));
  }
  void choose(const LayerCall& forward, const LayerCall& backward) const {
    if (convolution_) convolution_->choose(tensors(forward, backward));
  }

  /// The pair that Backend::cast_all() converts instead of a call of prepare(), after every change of the
  /// values; null: prepare() is called.
  virtual CastPair weight_cast() const = 0;
  /// Recomputes an output of batch-norm from what the last forward() kept.
  virtual void rebuild(const Tensor& output) = 0;
  /// The weights' gradients that backward() left rounded, for Backend::add_rounded(), which accumulates then.
  virtual void append_rounded_gradients(std::vector<CastPair>&) const {}

 protected:
  ConvolutionLayer(const ConvAttributes& conv, const LayerSetup& setup);
  /// Plans a convolution of so many filters, which are the layer's or also another's.
  void plan_convolution(int filters);
  /// The operands of the convolution's calls within these calls of the layer.
  virtual ConvolutionTensors tensors(const LayerCall& forward, const LayerCall& backward) const = 0;
  /// Adds the tensors of write_input_gradient() to `tensors`.
  void append_input_gradient(const LayerCall& backward, ConvolutionTensors& tensors) const;
  /// Writes the gradient of the layer's input, where that has one.
  void write_input_gradient(const Tensor& dy, const LayerCall& call);

  const ConvAttributes attributes_;
  const bool widens_;                  ///< computes in fp32 though its input and output are in 16 bits
  const bool trains_;                  ///< the parameters have gradients
  const bool passes_gradient_;         ///< backward() will be called
  std::optional<Normalization> norm_;  ///< batch-norm by the batch's statistics, if it has that
  ConvolutionSpec spec_;
  std::unique_ptr<Convolution> convolution_;
  void *weights_ = nullptr, *rounded_gradient_ = nullptr;
  Tensor added_gradient_;      ///< input gradient that is added to the one another consumer wrote
  void* workspace_ = nullptr;  ///< workspace of the convolution and of batch-norm
  size_t workspace_bytes_ = 0;
};

}  // namespace brightnet
