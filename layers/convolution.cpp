#include "layers/convolution.h"

#include <algorithm>

#include "core/alignment.h"

namespace brightnet {

ConvolutionLayer::ConvolutionLayer(const ConvAttributes& conv, const LayerSetup& setup)
    : Layer(setup),
      attributes_(conv),
      trains_(setup.mode == Mode::train && setup.description.rate > 0),
      passes_gradient_(setup.mode == Mode::train && (trains_ || setup.input_gradient)),
      norm_(conv.batch_norm && trains_),
      folds_(conv.batch_norm && !trains_) {
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
  spec_.statistics = norm_;
  spec_.folded = folds_;
  spec_.exchange = trains_ ? setup.statistics : nullptr;
  convolution_ = backend().plan_convolution(spec_);
  weight_ = parameter("weight");
  bias_ = parameter("bias");
  scale_ = parameter("scale");
  shift_ = parameter("shift");
  running_mean_ = parameter("running_mean");
  running_variance_ = parameter("running_variance");
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
    if (norm_) needs.saved += 2 * channel;
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
  const size_t channel = aligned(spec_.output.c * sizeof(float));
  if (keeps_output()) {
    kept_output_ = saved;
    saved += aligned(spec_.output.count() * size_of(spec_.type));
  }
  if (norm_) {
    mean_ = reinterpret_cast<float*>(saved);
    inverse_std_ = reinterpret_cast<float*>(saved + channel);
  }
  if (folds_) {
    folded_bias_ = reinterpret_cast<float*>(weights + aligned(convolution_->weight_bytes()));
    folded_weight_ = static_cast<float*>(memory.preparing);
  }
  rounded_gradient_ = memory.rounded_gradient;
  dense_gradient_ = workspace;
  added_gradient_ = workspace + dense_gradient_bytes();
  workspace_ = added_gradient_ + added_gradient_bytes();
  convolution_->bind(weights, workspace_);
  const size_t tensors = dense_gradient_bytes() + added_gradient_bytes();
  if (memory.workspace_bytes > tensors + convolution_->workspace_bytes())
    convolution_->extend_workspace(memory.workspace_bytes - tensors);
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
  backend().fold_batch_norm({value(weight_), value(scale_), value(shift_), value(running_mean_),
                             value(running_variance_), batch_norm_epsilon, spec_.output.c,
                             weight_->count / static_cast<size_t>(spec_.output.c), folded_weight_,
                             folded_bias_});
  convolution_->prepare(folded_weight_);
}

void ConvolutionLayer::forward(const LayerCall& call) {
  const Tensor y = convolution_output(call.output), x = call.inputs[0];
  const float* bias = norm_ ? nullptr : folds_ ? folded_bias_ : value(bias_);
  convolution_->forward(x, bias, y);
  if (norm_) {
    BatchNormForward norm = batch_norm(call.output);
    norm.sums = convolution_->output_sums();
    norm.addend = call.addend;
    backend().batch_norm_forward(norm);
  } else if (keeps_output()) {
    backend().activation_forward(attributes_.activation, y, call.output);
  }
}

void ConvolutionLayer::rebuild(const Tensor& output) {
  BRIGHTNET_CHECK(norm_, "only an output of batch-norm can be recomputed");
  BatchNormForward norm = batch_norm(output);
  norm.statistics_known = true;
  backend().batch_norm_forward(norm);
}

BatchNormForward ConvolutionLayer::batch_norm(const Tensor& output) const {
  BatchNormForward norm{.y = convolution_output(output), .z = output};
  norm.scale = value(scale_);
  norm.shift = value(shift_);
  norm.running_mean = value(running_mean_);
  norm.running_variance = value(running_variance_);
  norm.mean = mean_;
  norm.inverse_std = inverse_std_;
  norm.momentum = batch_norm_momentum;
  norm.epsilon = batch_norm_epsilon;
  norm.activation = attributes_.activation;
  norm.workspace = workspace_;
  norm.exchange = setup().statistics;
  return norm;
}

void ConvolutionLayer::backward(const LayerCall& call, bool accumulate_parameters) {
  // The convolution needs a dense gradient of its own. Batch-norm reads one that is a slice of a concat's, or
  // also another layer's, and writes it elsewhere.
  Tensor dy = call.output_gradient;
  if (keeps_output_gradient()) dy = {dense_gradient_, spec_.output, spec_.type};
  if (norm_) {
    BatchNormBackward norm{.y = convolution_output(call.output), .dz = call.output_gradient, .dy = dy};
    norm.scale = value(scale_);
    norm.shift = value(shift_);
    norm.mean = mean_;
    norm.inverse_std = inverse_std_;
    norm.scale_gradient = gradient(scale_);
    norm.shift_gradient = gradient(shift_);
    norm.accumulate = accumulate_parameters;
    norm.activation = attributes_.activation;
    norm.workspace = workspace_;
    norm.exchange = setup().statistics;
    backend().batch_norm_backward(norm);
  } else {
    if (keeps_output())
      backend().activation_backward(attributes_.activation, convolution_output(call.output), dy);
    if (trains_)
      backend().bias_gradient(dy, gradient(bias_), accumulate_parameters, workspace_, setup().statistics);
  }
  if (trains_ && rounded_gradient_) {
    convolution_->rounded_backward_weights(call.inputs[0], dy, rounded_gradient_);
  } else if (trains_) {
    convolution_->backward_weights(call.inputs[0], dy, gradient(weight_), accumulate_parameters);
  }
  const Tensor& dx = call.input_gradients[0];
  if (!dx) return;
  if (!call.accumulate[0]) {
    convolution_->backward_data(dy, dx);
    return;
  }
  // A gradient that is added to another is computed separately first.
  Tensor part = dx;
  part.data = added_gradient_;
  if (convolution_->add_backward_data(dy, dx, part)) return;
  convolution_->backward_data(dy, part);
  backend().add(dx, part, dx);
}

CastPair ConvolutionLayer::rounded_gradient() const {
  if (!rounded_gradient_) return {};
  const Shape flat{1, 1, 1, static_cast<int>(spec_.weight_count())};
  return {{rounded_gradient_, flat, spec_.type}, {gradient(weight_), flat, DType::f32}};
}

}  // namespace brightnet
