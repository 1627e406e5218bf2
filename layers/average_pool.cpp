// Average pooling.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// The mean over windows: [n, h, w, c] → [n, ⌈h / stride⌉, ⌈w / stride⌉, c], or over the whole map: [n, 1, 1, c].
class AveragePoolLayer : public Layer {
 public:
  AveragePoolLayer(const AveragePool& pool, const LayerSetup& setup) : Layer(setup), pool_(pool) {}
  void forward(const LayerCall& call) override {
    backend().average_pool_forward(pool_, call.inputs[0], call.output);
  }
  void backward(const LayerCall& call, bool) override {
    backend().average_pool_backward(pool_, call.output_gradient, call.input_gradients[0], call.accumulate[0]);
  }

 private:
  const AveragePool pool_;
};

}  // namespace

std::unique_ptr<Layer> AveragePoolAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<AveragePoolLayer>(AveragePool{size, size, stride, (size - 1) / 2}, setup);
}

std::unique_ptr<Layer> GlobalPoolAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<AveragePoolLayer>(whole_map(setup.inputs[0]), setup);
}

}  // namespace brightnet
