// Max-pooling.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// The maximum of each window. Training keeps its position in the window.
class MaxPoolLayer : public Layer {
 public:
  MaxPoolLayer(const MaxPoolAttributes& pool, const LayerSetup& setup)
      : Layer(setup),
        pool_{pool.size, pool.stride, pool.size - 1},
        argmax_{nullptr, output_shape(), DType::u8} {}
  void memory(MemoryList& list) override {
    if (setup().mode == Mode::train) list.saved(argmax_);
  }
  void forward(const LayerCall& call) override {
    backend().max_pool_forward(pool_, call.inputs[0], call.output, argmax_);
  }
  void backward(const LayerCall& call, bool) override {
    backend().max_pool_backward(pool_, call.output_gradient, argmax_, call.input_gradients[0],
                                call.accumulate[0]);
  }

 private:
  const PoolSpec pool_;
  Tensor argmax_;
};

}  // namespace

std::unique_ptr<Layer> MaxPoolAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<MaxPoolLayer>(*this, setup);
}

}  // namespace brightnet
