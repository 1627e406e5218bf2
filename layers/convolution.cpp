#include "layers/convolution.h"

#include <algorithm>

#include "core/alignment.h"

namespace brightnet {

ConvolutionLayer::ConvolutionLayer(const ConvAttributes& conv, const LayerSetup& setup)
    : Layer(setup),
      attributes_(conv),
      trains_(setup.mode == Mode::train && setup.description.rate > 0),
      passes_gradient_(setup.mode == Mode::train && (trains_ || setup.input_gradient)),
      folds_(conv.batch_norm && !trains_) {
  if (conv.batch_norm && trains_) norm_.emplace(conv.activation, Layer::setup());
  spec_.input = setup.inputs[0];
  spec_.output = output_shape();
  spec_.kernel = conv.size;
  spec_.stride = conv.stride;
  spec_.padding = conv.padding;
  spec_.groups = conv.groups;
  spec_.type = setup.type;
  spec_.training = passes_gradient_;
  spec_.input_gradient = setup.input_gradient;
  spec_.bias = !norm_;
  spec_.activation = passes_gradient_ ? Activation::linear : conv.activation;
  spec_.statistics = norm_.has_value();
  spec_.folded = folds_;
  spec_.exchange = trains_ ? setup.statistics : nullptr;
  convolution_ = backend().plan_convolution(spec_);
  weight_ = parameter("weight");
  bias_ = parameter("bias");
}

MemoryNeeds ConvolutionLayer::memory_needs() const {
  MemoryNeeds needs;
  needs.weights = aligned(convolution_->weight_bytes());
  const size_t channel = aligned(spec_.output.c * sizeof(float));
  size_t workspace = aligned(convolution_->workspace_bytes());
  size_t most = aligned(convolution_->most_workspace_bytes());
  if (folds_) needs.weights += channel;
  if (passes_gradient_) {
    if (keeps_output()) needs.saved += aligned(spec_.output.count() * size_of(spec_.type));
    if (norm_) needs.saved += norm_->saved_bytes();
    workspace = std::max(workspace, backend().channel_workspace(spec_.output));
  }
  if (trains_ && convolution_->rounds_weight_gradient())
    needs.rounded_gradient = aligned(spec_.weight_count() * size_of(spec_.type));
  const size_t tensors = dense_gradient_bytes() + added_gradient_bytes();
  needs.workspace = tensors + workspace;
  needs.most_workspace = tensors + std::max(workspace, most);
  // The folded weights, before conversion to the working ones.
  if (folds_) needs.preparing = spec_.weight_count() * sizeof(float);
  return needs;
}

// The convolution's own part of the workspace comes last: it takes what there is.
size_t ConvolutionLayer::dense_gradient_bytes() const {
  return passes_gradient_ && keeps_output_gradient()
             ? aligned(spec_.output.count() * size_of(spec_.type), device_alignment)
             : 0;
}
size_t ConvolutionLayer::added_gradient_bytes() const {
  return passes_gradient_ && setup().adds_input_gradient
             ? aligned(spec_.input.count() * size_of(spec_.type), device_alignment)
             : 0;
}

void ConvolutionLayer::bind(const LayerMemory& memory) {
  auto* weights = static_cast<std::byte*>(memory.weights);
  auto* saved = static_cast<std::byte*>(memory.saved);
  auto* workspace = static_cast<std::byte*>(memory.workspace);
  if (keeps_output()) {
    kept_output_ = saved;
    saved += aligned(spec_.output.count() * size_of(spec_.type));
  }
  if (folds_) {
    folded_bias_ = reinterpret_cast<float*>(weights + aligned(convolution_->weight_bytes()));
    folded_weight_ = static_cast<float*>(memory.preparing);
  }
  rounded_gradient_ = memory.rounded_gradient;
  dense_gradient_ = workspace;
  added_gradient_ = workspace + dense_gradient_bytes();
  workspace_ = added_gradient_ + added_gradient_bytes();
  if (norm_) norm_->bind(saved, workspace_);
  convolution_->bind(weights, workspace_);
  const size_t room = convolution_workspace(memory.workspace_bytes);
  if (room > convolution_->workspace_bytes()) convolution_->extend_workspace(room);
}

Tensor ConvolutionLayer::convolution_output(const Tensor& output) const {
  return keeps_output() ? Tensor{kept_output_, spec_.output, spec_.type} : output;
}

CastPair ConvolutionLayer::weight_cast() const {
  const Tensor working = convolution_->working_weights();
  return {{value(weight_), working.shape, DType::f32}, working};
}

void ConvolutionLayer::prepare() {
  if (!folds_) {
    convolution_->prepare(value(weight_));
    return;
  }
  backend().fold_batch_norm(
      {value(weight_), value(parameter("scale")), value(parameter("shift")), value(parameter("running_mean")),
       value(parameter("running_variance")), batch_norm_epsilon, spec_.output.c,
       weight_->count / static_cast<size_t>(spec_.output.c), folded_weight_, folded_bias_});
  convolution_->prepare(folded_weight_);
}

void ConvolutionLayer::forward(const LayerCall& call) {
  const Tensor y = convolution_output(call.output), x = call.inputs[0];
  const float* bias = norm_ ? nullptr : folds_ ? folded_bias_ : value(bias_);
  convolution_->forward(x, bias, y);
  if (norm_) {
    norm_->forward(y, call.output, call.addend, convolution_->output_sums());
  } else if (keeps_output()) {
    backend().activation_forward(attributes_.activation, y, call.output);
  }
}

void ConvolutionLayer::rebuild(const Tensor& output) {
  BRIGHTNET_CHECK(norm_, "only an output of batch-norm can be recomputed");
  norm_->recompute(convolution_output(output), output);
}

void ConvolutionLayer::backward(const LayerCall& call, bool accumulate_parameters) {
  // The convolution needs a dense gradient of its own. Batch-norm reads one that is a slice of a concat's, or
  // also another layer's, and writes it elsewhere.
  Tensor dy = call.output_gradient;
  if (keeps_output_gradient()) dy = {dense_gradient_, spec_.output, spec_.type};
  if (norm_) {
    norm_->backward(convolution_output(call.output), call.output_gradient, dy, accumulate_parameters);
  } else {
    if (keeps_output())
      backend().activation_backward(attributes_.activation, convolution_output(call.output), dy);
    if (trains_)
      backend().bias_gradient(dy, gradient(bias_), accumulate_parameters, workspace_, setup().statistics);
  }
  if (rounded_gradient_) {
    convolution_->rounded_backward_weights(call.inputs[0], dy, rounded_gradient_);
  } else if (trains_) {
    convolution_->backward_weights(call.inputs[0], dy, gradient(weight_), accumulate_parameters);
  }
  if (const Tensor& dx = call.input_gradients[0])
    write_input_gradient(backend(), *convolution_, dy, dx, call.accumulate[0], added_gradient_);
}

void write_input_gradient(Backend& backend, Convolution& convolution, const Tensor& dy, const Tensor& dx,
                          bool accumulate, void* part_memory) {
  if (!accumulate) return convolution.backward_data(dy, dx);
  // A gradient that is added to another is computed separately first.
  Tensor part = dx;
  part.data = part_memory;
  if (convolution.add_backward_data(dy, dx, part)) return;
  convolution.backward_data(dy, part);
  backend.add(dx, part, dx);
}

void ConvolutionLayer::append_rounded_gradients(std::vector<CastPair>& pairs) const {
  if (!rounded_gradient_) return;
  const Shape flat{1, 1, 1, static_cast<int>(spec_.weight_count())};
  pairs.push_back({{rounded_gradient_, flat, spec_.type}, {gradient(weight_), flat, DType::f32}});
}

}  // namespace brightnet
