// Sum of two maps (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// activation(a + b), of the channels that both have.
class ShortcutLayer : public Layer {
 public:
  ShortcutLayer(const ShortcutAttributes& shortcut, const LayerSetup& setup)
      : Layer(setup), activation_(shortcut.activation), sum_{nullptr, output_shape(), setup.type} {}
  void memory(MemoryList& list) override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  Activation activation_;
  Tensor sum_;  ///< kept for the activation's derivative
};

}  // namespace brightnet
