#include "layers/convolution.h"

#include <algorithm>

#include "core/alignment.h"

namespace brightnet {

ConvolutionLayer::ConvolutionLayer(const ConvAttributes& conv, const LayerSetup& setup)
    : Layer(setup),
      attributes_(conv),
      widens_(conv.full_precision && setup.type != DType::f32),
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
  spec_.type = widens_ ? DType::f32 : setup.type;
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

void ConvolutionLayer::memory(MemoryList& list) {
  const Shape &in = spec_.input, &out = spec_.output;
  list.weights(weights_, convolution_->weight_bytes());
  if (folds_) {
    list.weights(folded_bias_, out.c * sizeof(float));
    list.preparing(folded_weight_,
                   spec_.weight_count() * sizeof(float));  // before conversion to the working ones
  }
  if (keeps_output()) list.saved(kept_output_ = {nullptr, out, spec_.type});
  if (norm_) norm_->memory(list);
  if (trains_ && convolution_->rounds_weight_gradient())
    list.rounded_gradient(rounded_gradient_, spec_.weight_count() * size_of(spec_.type));
  if (passes_gradient_ && keeps_output_gradient())
    list.workspace(dense_gradient_ = {nullptr, out, spec_.type});
  if (passes_gradient_ && setup().adds_input_gradient)
    list.workspace(added_gradient_ = {nullptr, in, setup().type});
  if (widens_) {
    list.workspace(wide_input_ = {nullptr, in, DType::f32});
    list.workspace(wide_output_ = {nullptr, out, DType::f32});
    if (setup().input_gradient) list.workspace(wide_input_gradient_ = {nullptr, in, DType::f32});
  }
  size_t least = aligned(convolution_->workspace_bytes());
  if (passes_gradient_) least = std::max(least, backend().channel_workspace(out));
  list.rest_of_workspace(workspace_, workspace_bytes_, least,
                         widens_ ? least : aligned(convolution_->most_workspace_bytes()));
}

void ConvolutionLayer::bound() {
  if (norm_) norm_->use(workspace_);
  convolution_->bind(weights_, workspace_);
  if (workspace_bytes_ > convolution_->workspace_bytes()) convolution_->extend_workspace(workspace_bytes_);
}

Tensor ConvolutionLayer::convolution_output(const Tensor& output) const {
  return kept_output_ ? kept_output_ : output;
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
  if (!widens_) return run_forward(call);
  backend().cast(call.inputs[0], wide_input_);
  run_forward({.inputs = {&wide_input_, 1}, .output = wide_output_});
  backend().cast(wide_output_, call.output);
}

void ConvolutionLayer::run_forward(const LayerCall& call) {
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
  if (!widens_) return run_backward(call, accumulate_parameters);
  if (trains_) backend().cast(call.inputs[0], wide_input_);
  backend().cast(call.output_gradient, wide_output_);
  const Tensor& dx = call.input_gradients[0];
  const Tensor wanted = dx ? wide_input_gradient_ : Tensor{};
  const bool overwrite = false;
  run_backward({.inputs = {&wide_input_, 1},
                .output = wide_output_,
                .input_gradients = {&wanted, 1},
                .accumulate = {&overwrite, 1},
                .output_gradient = wide_output_},
               accumulate_parameters);
  if (!dx) return;
  backend().cast(wanted, call.accumulate[0] ? added_gradient_ : dx);
  if (call.accumulate[0]) backend().add(dx, added_gradient_, dx);
}

void ConvolutionLayer::run_backward(const LayerCall& call, bool accumulate_parameters) {
  // The convolution needs a dense gradient of its own. Batch-norm reads one that is a slice of a concat's, or
  // also another layer's, and writes it elsewhere.
  Tensor dy = call.output_gradient;
  if (dense_gradient_) dy = dense_gradient_;
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
                          bool accumulate, const Tensor& part) {
  if (!accumulate) return convolution.backward_data(dy, dx);
  // A gradient that is added to another is computed separately first.
  if (convolution.add_backward_data(dy, dx, part)) return;
  convolution.backward_data(dy, part);
  backend.add(dx, part, dx);
}

void ConvolutionLayer::append_rounded_gradients(std::vector<CastPair>& pairs) const {
  if (!rounded_gradient_) return;
  const Shape flat{1, 1, 1, static_cast<int>(spec_.weight_count())};
  pairs.push_back({{rounded_gradient_, flat, spec_.type}, {gradient(weight_), flat, DType::f32}});
}

std::unique_ptr<Layer> ConvAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<ConvolutionLayer>(*this, setup);
}

}  // namespace brightnet
