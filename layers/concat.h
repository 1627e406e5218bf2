// Concatenation of channels (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// The channels of its inputs, in the order of `from`. Inputs that are slices of the output already
/// (layers/graph.h) cost nothing, and neither do their gradients.
class ConcatLayer : public Layer {
 public:
  ConcatLayer(const ConcatAttributes&, const LayerSetup& setup) : Layer(setup) {}
  bool rebuilds_from_inputs() const override { return true; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;
};

}  // namespace brightnet
