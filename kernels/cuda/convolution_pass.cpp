#include "kernels/cuda/convolution_pass.h"

namespace brightnet::cuda {
namespace {

const char* name_of(ConvolutionPass::Kind kind) {
  switch (kind) {
    case ConvolutionPass::Kind::forward: return "forward";
    case ConvolutionPass::Kind::backward_data: return "backward data";
    case ConvolutionPass::Kind::add_backward_data: return "add backward data";
    case ConvolutionPass::Kind::backward_weights: return "backward weights";
  }
  return "";
}

/// Each tensor once. All bytes count as read, the written ones too: only the sums are used.
Traffic traffic_of(const ConvolutionSpec& spec, const Pointers& pointers) {
  const size_t channels = spec.output.c * sizeof(float);
  size_t bytes = (spec.input.count() + spec.output.count() + spec.weight_count()) * size_of(spec.type);
  if (pointers.count(bias_slot)) bytes += channels;
  if (pointers.count(addend_slot) && pointers.at(addend_slot) == pointers.at(x_slot))
    bytes += spec.input.count() * size_of(spec.type);
  if (pointers.count(sum_slot)) bytes += 2 * channels;
  return {bytes, 0};
}

}  // namespace

void ConvolutionPass::choose(const Pointers& pointers, EngineWorkspace workspace) {
  if (engine_) return;
  const ConvolutionEngines::Pass pass = described(workspace.bytes);
  engine_ =
      LaunchList::current() ? engines_->assumed(pass) : engines_->choose(pass, pointers, workspace, stream_);
}

ConvolutionEngines::Pass ConvolutionPass::described(size_t workspace_bytes) const {
  return {key(workspace_bytes), spec_.type, [this] { return variants(); }};
}

void ConvolutionPass::run(const Pointers& pointers, EngineWorkspace workspace) {
  choose(pointers, workspace);
  if (LaunchList* list = LaunchList::current()) return run(pointers, workspace, *list);
  engines_->execute(*engine_, pointers, workspace, stream_);
}

/// Adds the pass to the list of launches.
void ConvolutionPass::run(const Pointers& pointers, EngineWorkspace workspace, LaunchList& list) {
  list.add_convolution(traffic_of(spec_, pointers), spec_.flops());
  if (engine_->variant.epilogue) engine_->variant.epilogue(pointers, workspace.data, stream_);
}

ConvolutionVariants ConvolutionPass::variants() const {
  switch (kind_) {
    case Kind::forward: return forward_variants(spec_);
    case Kind::backward_data: return backward_data_variants(spec_);
    case Kind::add_backward_data: return add_backward_data_variants(spec_);
    case Kind::backward_weights: return backward_weights_variants(spec_);
  }
  return {};
}

/// The name by which the pass is known, here and in the file of chosen engines: all that its engines depend
/// on.
std::string ConvolutionPass::key(size_t workspace_bytes) const {
  std::string text = std::string(name_of(kind_)) + ' ' + to_string(spec_.input) + " -> " +
                     to_string(spec_.output) + " k" + std::to_string(spec_.kernel) + " s" +
                     std::to_string(spec_.stride) + " p" + std::to_string(spec_.padding) + ' ' +
                     std::string(enum_name(spec_.type));
  if (spec_.groups > 1) text += " g" + std::to_string(spec_.groups);
  if (spec_.bias) text += " bias";
  if (spec_.activation != Activation::linear)
    text += " activation" + std::to_string(static_cast<int>(spec_.activation));
  if (spec_.statistics) text += " statistics";
  if (engines_->options().tensor_float) text += " tf32";
  if (engines_->is_reproducible()) text += " deterministic";
  return text + " in " + std::to_string(workspace_bytes);
}

}  // namespace brightnet::cuda
