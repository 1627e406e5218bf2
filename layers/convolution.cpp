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
  if (folds_) needs.weights += channel;
  if (passes_gradient_) {
    if (keeps_output()) needs.saved += aligned(spec_.output.count() * size_of(spec_.type));
    if (norm_) needs.saved += 2 * channel;
    workspace = std::max(workspace, backend().channel_workspace(spec_.output));
    // A gradient that is added to another is computed separately first.
    const size_t dense_gradient =
        setup().output_in_concat ? aligned(spec_.output.count() * size_of(spec_.type)) : 0;
    const size_t part = setup().adds_input_gradient ? aligned(spec_.input.count() * size_of(spec_.type)) : 0;
    needs.workspace = workspace + dense_gradient + part;
  } else {
    needs.workspace = workspace;
  }
  // The folded weights, before conversion to the working ones.
  if (folds_) needs.preparing = spec_.weight_count() * sizeof(float);
  return needs;
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
  workspace_ = workspace;
  convolution_->bind(weights, workspace);
}

Tensor ConvolutionLayer::convolution_output(const Tensor& output) const {
  return keeps_output() ? Tensor{kept_output_, spec_.output, spec_.type} : output;
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
  // The convolution needs a dense gradient. Batch-norm reads one that is a slice of a concat's and writes
  // it densely.
  Tensor dy = call.output_gradient;
  std::byte* after_convolution = workspace_ + std::max(aligned(convolution_->workspace_bytes()),
                                                       backend().channel_workspace(spec_.output));
  if (setup().output_in_concat) {
    dy = {after_convolution, spec_.output, spec_.type};
    after_convolution += aligned(dy.bytes());
  }
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
  if (trains_) convolution_->backward_weights(call.inputs[0], dy, gradient(weight_), accumulate_parameters);
  const Tensor& dx = call.input_gradients[0];
  if (!dx) return;
  if (!call.accumulate[0]) {
    convolution_->backward_data(dy, dx);
    return;
  }
  Tensor part = dx;
  part.data = after_convolution;
  convolution_->backward_data(dy, part);
  backend().add(dx, part, dx);
}

}  // namespace brightnet
