#include "kernels/cuda/convolution_pass.h"

namespace brightnet::cuda {
namespace {

const char* name_of(ConvolutionPass::Kind kind) {
  switch (kind) {
    case ConvolutionPass::Kind::forward: return "forward";
    case ConvolutionPass::Kind::backward_data: return "backward data";
    case ConvolutionPass::Kind::backward_weights: return "backward weights";
  }
  return "";
}

}  // namespace

void ConvolutionPass::run(const Pointers& pointers, EngineWorkspace workspace) {
  if (!engine_) {
    engine_ = engines_->choose({key(workspace.bytes), spec_.type, [this] { return variants(); }}, pointers,
                               workspace, stream_);
  }
  engines_->execute(*engine_, pointers, workspace, stream_);
}

ConvolutionVariants ConvolutionPass::variants() const {
  switch (kind_) {
    case Kind::forward: return forward_variants(spec_);
    case Kind::backward_data: return backward_data_variants(spec_);
    case Kind::backward_weights: return backward_weights_variants(spec_);
  }
  return {};
}

/// What the pass is known by, here and in the file of chosen engines: all that its engines depend on.
std::string ConvolutionPass::key(size_t workspace_bytes) const {
  std::string text = std::string(name_of(kind_)) + ' ' + to_string(spec_.input) + " -> " +
                     to_string(spec_.output) + " k" + std::to_string(spec_.kernel) + " s" +
                     std::to_string(spec_.stride) + " p" + std::to_string(spec_.padding) + ' ' +
                     std::string(enum_name(spec_.type));
  if (spec_.bias) text += " bias";
  if (spec_.activation != Activation::linear)
    text += " activation" + std::to_string(static_cast<int>(spec_.activation));
  if (spec_.statistics) text += " statistics";
  if (engines_->options().tensor_float) text += " tf32";
  if (engines_->options().deterministic) text += " deterministic";
  return text + " in " + std::to_string(workspace_bytes);
}

}  // namespace brightnet::cuda
