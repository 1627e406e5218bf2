#include "layers/full_precision.h"

#include "core/alignment.h"

namespace brightnet {
namespace {

size_t floats(const Shape& shape) {
  return aligned(shape.count() * sizeof(float));
}

}  // namespace

FullPrecisionLayer::FullPrecisionLayer(const LayerSetup& setup, std::unique_ptr<Layer> inner)
    : Layer(setup), inner_(std::move(inner)) {
  BRIGHTNET_CHECK(setup.inputs.size() == 1 && !setup.output_in_concat, "a layer that cannot be widened");
}

LayerSetup FullPrecisionLayer::inner_setup(const LayerSetup& setup) {
  LayerSetup inner = setup;
  inner.type = DType::f32;
  inner.adds_input_gradient = false;
  return inner;
}

MemoryNeeds FullPrecisionLayer::memory_needs() const {
  MemoryNeeds needs = inner_->memory_needs();
  needs.most_workspace = 0;  // the tensors below follow what the inner layer cannot do without
  needs.workspace = aligned(needs.workspace) + floats(input_shape()) + floats(output_shape());
  if (setup().input_gradient) needs.workspace += floats(input_shape());
  if (setup().adds_input_gradient) needs.workspace += aligned(input_shape().count() * size_of(setup().type));
  return needs;
}

void FullPrecisionLayer::bind(const LayerMemory& memory) {
  LayerMemory inner = memory;
  inner.workspace_bytes = inner_->memory_needs().workspace;
  inner_->bind(inner);
  std::byte* at = static_cast<std::byte*>(memory.workspace) + aligned(inner.workspace_bytes);
  const auto take = [&](const Shape& shape) {
    const Tensor tensor{at, shape, DType::f32};
    at += floats(shape);
    return tensor;
  };
  input_ = take(input_shape());
  output_ = take(output_shape());
  if (setup().input_gradient) input_gradient_ = take(input_shape());
  part_ = {at, input_shape(), setup().type};
}

void FullPrecisionLayer::forward(const LayerCall& call) {
  backend().cast(call.inputs[0], input_);
  inner_->forward({.inputs = {&input_, 1}, .output = output_});
  backend().cast(output_, call.output);
}

void FullPrecisionLayer::backward(const LayerCall& call, bool accumulate_parameters) {
  if (backward_reads_inputs()) backend().cast(call.inputs[0], input_);
  backend().cast(call.output_gradient, output_);
  const Tensor& gradient = call.input_gradients[0];
  const Tensor wanted = gradient ? input_gradient_ : Tensor{nullptr, input_shape(), DType::f32};
  const bool overwrite = false;
  inner_->backward({.inputs = {&input_, 1},
                    .input_gradients = {&wanted, 1},
                    .accumulate = {&overwrite, 1},
                    .output_gradient = output_},
                   accumulate_parameters);
  if (!gradient) return;
  if (!call.accumulate[0]) {
    backend().cast(input_gradient_, gradient);
    return;
  }
  backend().cast(input_gradient_, part_);
  backend().add(gradient, part_, gradient);
}

}  // namespace brightnet
