#include "layers/max_pool.h"

namespace brightnet {

MaxPoolLayer::MaxPoolLayer(const MaxPoolAttributes& pool, const LayerSetup& setup)
    : Layer(setup), pool_{pool.size, pool.stride, pool.size - 1} {}

MemoryNeeds MaxPoolLayer::memory_needs() const {
  return {.saved = setup().mode == Mode::train ? output_shape().count() : 0};
}

void MaxPoolLayer::bind(const LayerMemory& memory) {
  argmax_ = {memory.saved, output_shape(), DType::u8};
}

void MaxPoolLayer::forward(const LayerCall& call) {
  backend().max_pool_forward(pool_, call.inputs[0], call.output, argmax_);
}

void MaxPoolLayer::backward(const LayerCall& call, bool) {
  backend().max_pool_backward(pool_, call.output_gradient, argmax_, call.input_gradients[0],
                              call.accumulate[0]);
}

}  // namespace brightnet
