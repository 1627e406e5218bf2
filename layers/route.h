// Layers that join and part ways: concat, split, shortcut, multiply (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// Channels of its inputs one after the other, in the order of `from`. Inputs that the network placed in the
/// output already (Network::place_in_concats) cost nothing, and neither do their gradients.
class ConcatLayer : public Layer {
 public:
  explicit ConcatLayer(const LayerSetup& setup);
  Shape output_shape() const override { return output_; }
  bool rebuilds_from_inputs() const override { return true; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  Shape output_;
};

/// One of several equal groups of channels.
class SplitLayer : public Layer {
 public:
  explicit SplitLayer(const LayerSetup& setup);
  Shape output_shape() const override { return output_; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  Shape output_;
  int first_channel_ = 0;
};

/// activation(a + b), of the channels that both have.
class ShortcutLayer : public Layer {
 public:
  explicit ShortcutLayer(const LayerSetup& setup);
  Shape output_shape() const override { return setup().inputs[0]; }
  MemoryNeeds memory_needs() const override;
  void bind(const LayerMemory& memory) override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  Activation activation_;
  Tensor sum_;  ///< kept for the activation's derivative
};

/// a · b, element by element.
class MultiplyLayer : public Layer {
 public:
  explicit MultiplyLayer(const LayerSetup& setup) : Layer(setup) {}
  Shape output_shape() const override { return setup().inputs[0]; }
  bool backward_reads_inputs() const override { return true; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;
};

}  // namespace brightnet
