#include "layers/max_pool.h"

namespace brightnet {

MaxPoolLayer::MaxPoolLayer(const MaxPoolAttributes& pool, const LayerSetup& setup)
    : Layer(setup),
      pool_{pool.size, pool.stride, pool.size - 1},
      argmax_{nullptr, output_shape(), DType::u8} {}

void MaxPoolLayer::memory(MemoryList& list) {
  if (setup().mode == Mode::train) list.saved(argmax_);
}

void MaxPoolLayer::forward(const LayerCall& call) {
  backend().max_pool_forward(pool_, call.inputs[0], call.output, argmax_);
}

void MaxPoolLayer::backward(const LayerCall& call, bool) {
  backend().max_pool_backward(pool_, call.output_gradient, argmax_, call.input_gradients[0],
                              call.accumulate[0]);
}

}  // namespace brightnet
