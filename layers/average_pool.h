// Average pooling (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// The mean over windows of the map: [n, h, w, c] → [n, ⌈h / stride⌉, ⌈w / stride⌉, c].
class AveragePoolLayer : public Layer {
 public:
  AveragePoolLayer(const AveragePoolAttributes& pool, const LayerSetup& setup)
      : AveragePoolLayer(AveragePool{pool.size, pool.size, pool.stride, (pool.size - 1) / 2}, setup) {}
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 protected:
  AveragePoolLayer(const AveragePool& pool, const LayerSetup& setup) : Layer(setup), pool_(pool) {}

 private:
  AveragePool pool_;
};

/// The mean over the whole map: [n, h, w, c] → [n, 1, 1, c].
class GlobalPoolLayer : public AveragePoolLayer {
 public:
  GlobalPoolLayer(const GlobalPoolAttributes&, const LayerSetup& setup)
      : AveragePoolLayer(whole_map(setup.inputs[0]), setup) {}
};

}  // namespace brightnet
