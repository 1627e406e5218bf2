#include "layers/resample.h"

#include <algorithm>

namespace brightnet {
namespace {

int pooled(int side, const PoolSpec& pool) {
  return (side + pool.padding - pool.window) / pool.stride + 1;
}

}  // namespace

MaxPoolLayer::MaxPoolLayer(const LayerSetup& setup) : Layer(setup) {
  const auto& attributes = std::get<MaxPoolAttributes>(setup.description.attributes);
  pool_ = {attributes.size, attributes.stride, attributes.size - 1};
  const Shape& in = setup.inputs[0];
  output_ = {in.n, pooled(in.h, pool_), pooled(in.w, pool_), in.c};
}

MemoryNeeds MaxPoolLayer::memory_needs() const {
  MemoryNeeds needs;
  if (setup().mode == Mode::train) needs.saved = output_.count();
  return needs;
}

void MaxPoolLayer::bind(const LayerMemory& memory) {
  argmax_ = {memory.saved, output_, DType::u8};
}

void MaxPoolLayer::forward(const LayerCall& call) {
  backend().max_pool_forward(pool_, call.inputs[0], call.output, argmax_);
}

void MaxPoolLayer::backward(const LayerCall& call, bool) {
  backend().max_pool_backward(pool_, call.output_gradient, argmax_, call.input_gradients[0],
                              call.accumulate[0]);
}

SppLayer::SppLayer(const LayerSetup& setup)
    : Layer(setup), windows_(std::get<SppAttributes>(setup.description.attributes).windows) {
  std::sort(windows_.rbegin(), windows_.rend());
  output_ = setup.inputs[0];
  output_.c *= static_cast<int>(1 + windows_.size());
}

MemoryNeeds SppLayer::memory_needs() const {
  const Shape& in = setup().inputs[0];
  MemoryNeeds needs;
  if (setup().mode == Mode::train) needs.saved = in.count() * windows_.size();
  needs.workspace = backend().spatial_pyramid_workspace(in, setup().type);
  return needs;
}

void SppLayer::bind(const LayerMemory& memory) {
  const Shape& in = setup().inputs[0];
  argmax_.clear();
  for (size_t i = 0; i < windows_.size(); ++i) {
    auto* place = static_cast<std::byte*>(memory.saved);
    argmax_.push_back({place ? place + i * in.count() : nullptr, in, DType::u8});
  }
  workspace_ = memory.workspace;
}

void SppLayer::forward(const LayerCall& call) {
  backend().spatial_pyramid_forward(windows_, call.inputs[0], call.output, argmax_, workspace_);
}

void SppLayer::backward(const LayerCall& call, bool) {
  backend().spatial_pyramid_backward(windows_, call.output_gradient, argmax_, call.input_gradients[0],
                                     call.accumulate[0], workspace_);
}

UpsampleLayer::UpsampleLayer(const LayerSetup& setup)
    : Layer(setup), factor_(std::get<UpsampleAttributes>(setup.description.attributes).factor) {
  output_ = setup.inputs[0];
  output_.h *= factor_;
  output_.w *= factor_;
}

void UpsampleLayer::forward(const LayerCall& call) {
  backend().upsample_forward(factor_, call.inputs[0], call.output);
}

void UpsampleLayer::backward(const LayerCall& call, bool) {
  backend().upsample_backward(factor_, call.output_gradient, call.input_gradients[0], call.accumulate[0]);
}

SpaceToDepthLayer::SpaceToDepthLayer(const LayerSetup& setup)
    : Layer(setup), block_(std::get<SpaceToDepthAttributes>(setup.description.attributes).block) {
  const Shape& in = setup.inputs[0];
  if (in.h % block_ != 0 || in.w % block_ != 0) {
    throw InputError("'" + setup.description.name + "' gets a map of " + std::to_string(in.w) + "x" +
                         std::to_string(in.h) + " pixels, which is not made of blocks of " +
                         std::to_string(block_),
                     setup.description.where, "Use another input size.");
  }
  output_ = {in.n, in.h / block_, in.w / block_, in.c * block_ * block_};
}

void SpaceToDepthLayer::forward(const LayerCall& call) {
  backend().space_to_depth(block_, call.inputs[0], call.output);
}

void SpaceToDepthLayer::backward(const LayerCall& call, bool) {
  backend().space_to_depth_backward(block_, call.output_gradient, call.input_gradients[0],
                                    call.accumulate[0]);
}

}  // namespace brightnet
