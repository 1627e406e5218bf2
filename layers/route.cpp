#include "layers/route.h"

#include <algorithm>

namespace brightnet {
namespace {

/// Whether `part` is the slice of `whole` that starts at this channel.
bool lies_in(const Tensor& part, const Tensor& whole, int channel) {
  return part.stride > 0 && part.data == slice_channels(whole, channel, part.shape.c).data;
}

}  // namespace

ConcatLayer::ConcatLayer(const LayerSetup& setup) : Layer(setup), output_(setup.inputs[0]) {
  output_.c = 0;
  for (const Shape& input : setup.inputs) output_.c += input.c;
}

void ConcatLayer::forward(const LayerCall& call) {
  int at = 0;
  for (const Tensor& input : call.inputs) {
    if (!lies_in(input, call.output, at))
      backend().copy_channels(input, 0, call.output, at, input.shape.c, false);
    at += input.shape.c;
  }
}

void ConcatLayer::backward(const LayerCall& call, bool) {
  int at = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const int channels = call.inputs[i].shape.c;
    const Tensor& dx = call.input_gradients[i];
    if (dx && !lies_in(dx, call.output_gradient, at))
      backend().copy_channels(call.output_gradient, at, dx, 0, channels, call.accumulate[i]);
    at += channels;
  }
}

SplitLayer::SplitLayer(const LayerSetup& setup) : Layer(setup), output_(setup.inputs[0]) {
  const auto& split = std::get<SplitAttributes>(setup.description.attributes);
  output_.c /= split.groups;
  first_channel_ = split.part * output_.c;
}

void SplitLayer::forward(const LayerCall& call) {
  backend().copy_channels(call.inputs[0], first_channel_, call.output, 0, output_.c, false);
}

void SplitLayer::backward(const LayerCall& call, bool) {
  const Tensor& dx = call.input_gradients[0];
  if (!call.accumulate[0]) backend().zero(dx.data, dx.bytes());
  backend().copy_channels(call.output_gradient, 0, dx, first_channel_, output_.c, call.accumulate[0]);
}

ShortcutLayer::ShortcutLayer(const LayerSetup& setup)
    : Layer(setup), activation_(std::get<ShortcutAttributes>(setup.description.attributes).activation) {}

MemoryNeeds ShortcutLayer::memory_needs() const {
  MemoryNeeds needs;
  if (setup().mode == Mode::train && activation_ != Activation::linear) {
    needs.saved = output_shape().count() * size_of(setup().type);
  }
  return needs;
}

void ShortcutLayer::bind(const LayerMemory& memory) {
  sum_ = {memory.saved, output_shape(), setup().type};
}

void ShortcutLayer::forward(const LayerCall& call) {
  const Tensor sum = sum_ ? sum_ : call.output;
  const Tensor &a = call.inputs[0], &b = call.inputs[1];
  if (a.shape.c == b.shape.c) {
    backend().add(a, b, sum);
  } else {
    backend().copy_channels(a, 0, sum, 0, a.shape.c, false);
    backend().copy_channels(b, 0, sum, 0, std::min(a.shape.c, b.shape.c), true);
  }
  if (activation_ != Activation::linear) backend().activation_forward(activation_, sum, call.output);
}

void ShortcutLayer::backward(const LayerCall& call, bool) {
  const Tensor& dy = call.output_gradient;
  if (activation_ != Activation::linear) backend().activation_backward(activation_, sum_, dy);
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& dx = call.input_gradients[i];
    if (!dx || dx.data == dy.data) continue;
    const int common = std::min(dx.shape.c, dy.shape.c);
    if (common < dx.shape.c && !call.accumulate[i]) backend().zero(dx.data, dx.bytes());
    backend().copy_channels(dy, 0, dx, 0, common, call.accumulate[i]);
  }
}

void MultiplyLayer::forward(const LayerCall& call) {
  backend().multiply(call.inputs[0], call.inputs[1], call.output, false);
}

void MultiplyLayer::backward(const LayerCall& call, bool) {
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& dx = call.input_gradients[i];
    if (dx) backend().multiply(call.output_gradient, call.inputs[1 - i], dx, call.accumulate[i]);
  }
}

}  // namespace brightnet
