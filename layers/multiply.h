// Product of two maps (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// a · b, element by element.
class MultiplyLayer : public Layer {
 public:
  MultiplyLayer(const MultiplyAttributes&, const LayerSetup& setup) : Layer(setup) {}
  bool backward_reads_inputs() const override { return true; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;
};

}  // namespace brightnet
