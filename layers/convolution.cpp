#include "layers/convolution.h"

#include <algorithm>

namespace brightnet {

ConvolutionLayer::ConvolutionLayer(const ConvAttributes& conv, const LayerSetup& setup)
    : Layer(setup),
      attributes_(conv),
      widens_(conv.full_precision && setup.type != DType::f32),
      trains_(setup.mode == Mode::train && setup.description.rate > 0),
      passes_gradient_(setup.mode == Mode::train && (trains_ || setup.input_gradient)) {
  if (conv.batch_norm && trains_) norm_.emplace(conv.activation, Layer::setup());
}

void ConvolutionLayer::plan_convolution(int filters) {
  spec_.input = setup().inputs[0];
  spec_.zero_inputs = setup().zero_inputs;
  spec_.output = output_shape();
  spec_.output.c = filters + setup().zero_outputs;
  spec_.zero_outputs = setup().zero_outputs;
  spec_.kernel = attributes_.size;
  spec_.stride = attributes_.stride;
  spec_.padding = attributes_.padding;
  spec_.groups = attributes_.groups;
  spec_.type = widens_ ? DType::f32 : setup().type;
  spec_.training = passes_gradient_;
  spec_.input_gradient = setup().input_gradient;
  spec_.bias = !norm_;
  spec_.activation = passes_gradient_ ? Activation::linear : attributes_.activation;
  spec_.statistics = norm_.has_value();
  spec_.folded = attributes_.batch_norm && !trains_;
  spec_.exchange = trains_ ? setup().statistics : nullptr;
  if (!setup().simulates_int8) spec_.quantized = setup().quantized;
  if (setup().before_activation) spec_.activation = Activation::linear;
  convolution_ = backend().plan_convolution(spec_);
}

void ConvolutionLayer::memory(MemoryList& list) {
  if (norm_) norm_->memory(list);
  if (!convolution_) return;
  list.weights(weights_, convolution_->weight_bytes());
  if (trains_ && convolution_->rounds_weight_gradient())
    list.rounded_gradient(rounded_gradient_, spec_.padded_weight_count() * size_of(spec_.type));
  if (passes_gradient_ && setup().adds_input_gradient)
    list.workspace(added_gradient_ = {nullptr, spec_.input, setup().type});
  size_t least = aligned(convolution_->workspace_bytes());
  if (passes_gradient_) least = std::max(least, backend().channel_workspace(spec_.output));
  list.rest_of_workspace(workspace_, workspace_bytes_, least,
                         widens_ ? least : aligned(convolution_->most_workspace_bytes()));
}

void ConvolutionLayer::bound() {
  if (norm_) norm_->use(workspace_);
  convolution_->bind(weights_, workspace_);
  if (workspace_bytes_ > convolution_->workspace_bytes()) convolution_->extend_workspace(workspace_bytes_);
}

void ConvolutionLayer::append_input_gradient(const LayerCall& backward, ConvolutionTensors& tensors) const {
  tensors.dx = backward.input_gradients[0];
  if (tensors.dx && backward.accumulate[0]) tensors.part = added_gradient_;
}

void ConvolutionLayer::write_input_gradient(const Tensor& dy, const LayerCall& call) {
  const Tensor& dx = call.input_gradients[0];
  if (!dx) return;
  if (!call.accumulate[0]) return convolution_->backward_data(dy, dx);
  if (convolution_->add_backward_data(dy, dx, added_gradient_)) return;
  // Where the device cannot add, it is computed separately first.
  convolution_->backward_data(dy, added_gradient_);
  backend().add(dx, added_gradient_, dx);
}

namespace {

/// y = convolution(x, weight); output = activation(batch_norm(y)), or activation(y + bias) without
/// batch-norm. Keeps y and the batch's statistics for the backward pass and recomputes the rest from them.
/// For inference the batch-norm is folded into the weights and the activation fused into the convolution; so
/// it is in training for a frozen layer that no gradient passes through. A frozen layer that passes a
/// gradient on has its batch-norm folded and applies its activation separately.
///
/// In 8 bits (LayerSetup::quantized) its input is rounded unless that is in 8 bits already, and its output is in 8 bits
/// or fp32, as the layers need that read it.
///
/// Where 8 bits are simulated (LayerSetup::simulates_int8) it convolves its rounded input with its rounded weights. Rounding
/// commutes with whatever moves or compares values between two convolutions, so that this is what the 8-bit network
/// computes, but for its sums' order. The backward pass rounds the input again, and no gradient passes where it saturates;
/// the weights' gradient is that of the rounded ones.
///
/// With `precision: fp32` in a network of 16-bit activations its arithmetic, its working weights and what it keeps for
/// the backward pass are fp32: its input is widened and its output rounded, and so are their gradients. That costs their
/// memory and four casts.
class SingleConvolution : public ConvolutionLayer {
 public:
  SingleConvolution(const ConvAttributes& conv, const LayerSetup& setup)
      : ConvolutionLayer(conv, setup),
        simulates_(setup.simulates_int8 && setup.quantized),
        weight_(parameter("weight")),
        bias_(parameter("bias")) {
    BRIGHTNET_CHECK(!simulates_ || !conv.batch_norm, "batch-norm is folded before 8 bits are simulated");
    plan_convolution(conv.filters);
  }

  void memory(MemoryList& list) override;
  void bound() override;
  CastPair weight_cast() const override;
  void prepare() override;
  void forward(const LayerCall& call) override;
  void rebuild(const Tensor& output) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;
  void append_rounded_gradients(std::vector<CastPair>& pairs) const override;

 private:
  /// Whether the convolution's output is kept in addition to the layer's.
  bool keeps_output() const {
    return passes_gradient_ && (norm_ || attributes_.activation != Activation::linear);
  }
  Tensor convolution_output(const Tensor& output) const;
  const float* bias() const { return norm_ ? nullptr : spec_.folded ? folded_bias_ : value(bias_); }
  ConvolutionTensors tensors(const LayerCall& forward, const LayerCall& backward) const override;
  void run_forward(const LayerCall& call);
  void run_backward(const LayerCall& call, bool accumulate_parameters);
  void widened_backward(const LayerCall& call, bool accumulate_parameters);
  /// Where 8 bits are simulated: this layer's part of the gradient, before what saturates is left out.
  Tensor own_input_gradient(const LayerCall& call) const {
    const Tensor& dx = call.input_gradients[0];
    return dx && call.accumulate[0] ? added_gradient_ : dx;
  }
  void simulated_backward(const LayerCall& call, bool accumulate_parameters);

  const bool simulates_;
  const ParameterEntry *weight_, *bias_;
  float *folded_weight_ = nullptr, *folded_bias_ = nullptr;  ///< batch-norm by running statistics folded in
  Tensor kept_output_;
  Tensor dense_gradient_;   ///< gradient of an output whose own must not be overwritten
  Tensor quantized_input_;  ///< 8-bit input of a convolution whose input is in floating point
  // Where 8 bits are simulated.
  Tensor rounded_input_;
  float *rounded_weight_ = nullptr, *weight_scales_ = nullptr;
  /// For `precision: fp32`: copies in fp32. That of the output holds its gradient as well.
  Tensor wide_input_, wide_output_, wide_input_gradient_;
};

void SingleConvolution::memory(MemoryList& list) {
  const Shape &in = spec_.input, &out = spec_.output;
  if (keeps_output()) list.saved(kept_output_ = {nullptr, out, spec_.type});
  if (passes_gradient_ && setup().shares_output_gradient)
    list.workspace(dense_gradient_ = {nullptr, out, spec_.type});
  if (widens_) {
    list.workspace(wide_input_ = {nullptr, in, DType::f32});
    list.workspace(wide_output_ = {nullptr, out, DType::f32});
    if (setup().input_gradient) list.workspace(wide_input_gradient_ = {nullptr, in, DType::f32});
  }
  if (spec_.quantized && !setup().input_is_quantized)
    list.workspace(quantized_input_ = {nullptr, in, DType::u8});
  if (simulates_) {
    list.workspace(rounded_input_ = {nullptr, in, DType::f32});
    list.weights(rounded_weight_, spec_.weight_count() * sizeof(float));
    list.weights(weight_scales_, out.c * sizeof(float));
  }
  ConvolutionLayer::memory(list);
  if (!spec_.folded) return;
  list.weights(folded_bias_, out.c * sizeof(float));
  // The folded weights, before they are converted to the working weights.
  list.preparing(folded_weight_, spec_.weight_count() * sizeof(float));
}

void SingleConvolution::bound() {
  ConvolutionLayer::bound();
  if (!simulates_) return;
  const std::vector<float>& scales = setup().quantized->weight_scales;
  backend().upload(weight_scales_, scales.data(), scales.size() * sizeof(float));
}

Tensor SingleConvolution::convolution_output(const Tensor& output) const {
  return kept_output_ ? kept_output_ : output;
}

ConvolutionTensors SingleConvolution::tensors(const LayerCall& forward, const LayerCall& backward) const {
  const Tensor own_input = widens_ ? wide_input_ : rounded_input_;
  ConvolutionTensors tensors{.x = own_input ? own_input : forward.inputs[0],
                             .y = convolution_output(widens_ ? wide_output_ : forward.output),
                             .bias = bias()};
  if (!passes_gradient_) return tensors;
  tensors.dy = widens_ ? wide_output_ : dense_gradient_ ? dense_gradient_ : backward.output_gradient;
  if (trains_) tensors.backward_x = own_input ? own_input : backward.inputs[0];
  if (simulates_) {
    tensors.dx = own_input_gradient(backward);
  } else if (!widens_) {
    append_input_gradient(backward, tensors);
  } else if (backward.input_gradients[0]) {
    tensors.dx = wide_input_gradient_;
  }
  return tensors;
}

CastPair SingleConvolution::weight_cast() const {
  if (simulates_) return {};
  const Tensor working = convolution_->working_weights();
  return {{value(weight_), working.shape, DType::f32}, working};
}

void SingleConvolution::prepare() {
  if (simulates_) {
    const auto outputs = static_cast<size_t>(spec_.output.c);
    backend().fake_quantize_weights(value(weight_), weight_scales_, outputs, weight_->count / outputs,
                                    rounded_weight_);
    convolution_->prepare(rounded_weight_);
    return;
  }
  if (!spec_.folded) {
    convolution_->prepare(value(weight_));
    return;
  }
  backend().fold_batch_norm({value(weight_), value(parameter("scale")), value(parameter("shift")),
                             value(parameter("running_mean")), value(parameter("running_variance")),
                             batch_norm_epsilon, spec_.output.c, weight_->count / spec_.output.c,
                             folded_weight_, folded_bias_});
  convolution_->prepare(folded_weight_);
}

void SingleConvolution::forward(const LayerCall& call) {
  if (quantized_input_) {
    backend().quantize(call.inputs[0], spec_.quantized->input, quantized_input_);
    return run_forward({.inputs = {&quantized_input_, 1}, .output = call.output});
  }
  if (simulates_) {
    backend().fake_quantize(call.inputs[0], setup().quantized->input, rounded_input_);
    return run_forward({.inputs = {&rounded_input_, 1}, .output = call.output});
  }
  if (!widens_) return run_forward(call);
  backend().cast(call.inputs[0], wide_input_);
  run_forward({.inputs = {&wide_input_, 1}, .output = wide_output_});
  backend().cast(wide_output_, call.output);
}

void SingleConvolution::run_forward(const LayerCall& call) {
  const Tensor y = convolution_output(call.output), x = call.inputs[0];
  convolution_->forward(x, bias(), y);
  if (norm_) {
    norm_->forward(y, call.output, call.addend, convolution_->output_sums());
  } else if (keeps_output()) {
    backend().activation_forward(attributes_.activation, y, call.output);
  } else if (setup().before_activation) {
    setup().before_activation(y);
    backend().activation_forward(attributes_.activation, y, y);
  }
}

void SingleConvolution::rebuild(const Tensor& output) {
  BRIGHTNET_CHECK(norm_, "only an output of batch-norm can be recomputed");
  norm_->recompute(convolution_output(output), output);
}

void SingleConvolution::backward(const LayerCall& call, bool accumulate_parameters) {
  if (widens_) return widened_backward(call, accumulate_parameters);
  if (simulates_) return simulated_backward(call, accumulate_parameters);
  run_backward(call, accumulate_parameters);
}

void SingleConvolution::simulated_backward(const LayerCall& call, bool accumulate_parameters) {
  const Tensor &x = call.inputs[0], &dx = call.input_gradients[0];
  const QuantizedRange& range = setup().quantized->input;
  if (trains_) backend().fake_quantize(x, range, rounded_input_);
  const Tensor own = own_input_gradient(call);
  const bool overwrite = false;
  run_backward({.inputs = {&rounded_input_, 1},
                .output = call.output,
                .input_gradients = {&own, 1},
                .accumulate = {&overwrite, 1},
                .output_gradient = call.output_gradient},
               accumulate_parameters);
  if (!dx) return;
  backend().fake_quantize_backward(x, range, own);
  if (own.data != dx.data) backend().add(dx, own, dx);
}

void SingleConvolution::widened_backward(const LayerCall& call, bool accumulate_parameters) {
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

void SingleConvolution::run_backward(const LayerCall& call, bool accumulate_parameters) {
  // The convolution needs a dense gradient of its own. Batch-norm reads one that is a slice of a concat's, or
  // also another layer's, and writes it elsewhere.
  const Tensor dy = dense_gradient_ ? dense_gradient_ : call.output_gradient;
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
  write_input_gradient(dy, call);
}

void SingleConvolution::append_rounded_gradients(std::vector<CastPair>& pairs) const {
  if (!rounded_gradient_) return;
  const Shape flat{1, 1, 1, static_cast<int>(spec_.weight_count())};
  pairs.push_back({{rounded_gradient_, flat, spec_.type}, {gradient(weight_), flat, DType::f32}});
}

}  // namespace

std::unique_ptr<Layer> ConvAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<SingleConvolution>(*this, setup);
}

}  // namespace brightnet
