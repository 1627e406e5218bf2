#include "layers/twin_convolutions.h"

#include <array>
#include <variant>

#include "layers/convolution.h"

namespace brightnet {
namespace {

/// Channels of whole vectors on either device, so that a slice is accessed as a tensor of its own would be.
constexpr int channel_multiple = 8;

const ConvAttributes& convolution_of(const LayerSetup& setup) {
  return std::get<ConvAttributes>(setup.description.attributes);
}

/// Runs the passes of the convolution of both, and has their memory.
class FirstTwin : public ConvolutionLayer {
 public:
  FirstTwin(const LayerSetup& setup, const LayerSetup& second);

  void memory(MemoryList& list) override;
  CastPair weight_cast() const override { return weight_cast(0); }
  void prepare() override;
  void forward(const LayerCall& call) override;
  void rebuild(const Tensor& output) override { norm_->recompute(y(0), output); }
  void backward(const LayerCall& call, bool accumulate_parameters) override;
  void append_rounded_gradients(std::vector<CastPair>& pairs) const override;

  /// The y of a twin, 0 or 1.
  Tensor y(int twin) const { return slice_channels(y_, parts_[twin].channel, parts_[twin].channels); }
  /// Σy of the second twin, if the convolution has made sums.
  const float* second_sums() const;
  int sums_pitch() const { return spec_.output.c; }
  CastPair weight_cast(int twin) const;
  void* workspace() const { return workspace_; }

 private:
  struct Part {
    const ParameterEntry* weight;
    int channel, channels;
  };
  ConvolutionTensors tensors(const LayerCall& forward, const LayerCall& backward) const override;
  /// The elements of a twin's weights in an array of both's.
  Tensor weights_in(void* both, int twin, DType type) const;
  void write_weight_gradients(const Tensor& x, bool accumulate);

  std::array<Part, 2> parts_;
  Tensor y_;
  /// The weights of both twins in fp32, for a device that does not convert them in place, and their gradient, unless it is
  /// rounded.
  float *masters_ = nullptr, *weight_gradient_ = nullptr;
};

FirstTwin::FirstTwin(const LayerSetup& setup, const LayerSetup& second)
    : ConvolutionLayer(convolution_of(setup), setup) {
  const int channels = attributes_.filters, more = convolution_of(second).filters;
  parts_ = {Part{parameter("weight"), 0, channels},
            Part{setup.parameters.layout->find(second.description.name + ".weight"), channels, more}};
  plan_convolution(channels + more);
}

void FirstTwin::memory(MemoryList& list) {
  const size_t bytes = spec_.weight_count() * sizeof(float);
  list.saved(y_ = {nullptr, spec_.output, spec_.type});
  if (!convolution_->rounds_weight_gradient()) list.workspace(weight_gradient_, bytes);
  ConvolutionLayer::memory(list);
  if (convolution_->working_weights().count() == 0) list.weights(masters_, bytes);
}

ConvolutionTensors FirstTwin::tensors(const LayerCall& forward, const LayerCall& backward) const {
  ConvolutionTensors tensors{.x = forward.inputs[0], .y = y_, .dy = y_, .backward_x = backward.inputs[0]};
  append_input_gradient(backward, tensors);
  return tensors;
}

Tensor FirstTwin::weights_in(void* both, int twin, DType type) const {
  const size_t first = twin == 0 ? 0 : parts_[0].weight->count;
  return {static_cast<std::byte*>(both) + first * size_of(type),
          {1, 1, 1, static_cast<int>(parts_[twin].weight->count)},
          type};
}

CastPair FirstTwin::weight_cast(int twin) const {
  const Tensor working = convolution_->working_weights();
  if (!working) return {};
  const Tensor part = weights_in(working.data, twin, working.type);
  return {{value(parts_[twin].weight), part.shape, DType::f32}, part};
}

void FirstTwin::prepare() {
  for (const int twin : {0, 1}) {
    const Tensor copy = weights_in(masters_, twin, DType::f32);
    backend().copy(copy.data, value(parts_[twin].weight), copy.bytes());
  }
  convolution_->prepare(masters_);
}

void FirstTwin::forward(const LayerCall& call) {
  convolution_->forward(call.inputs[0], nullptr, y_);
  norm_->forward(y(0), call.output, call.addend, convolution_->output_sums(), sums_pitch());
}

const float* FirstTwin::second_sums() const {
  const float* sums = convolution_->output_sums();
  return sums ? sums + parts_[1].channel : nullptr;
}

void FirstTwin::backward(const LayerCall& call, bool accumulate_parameters) {
  norm_->backward(y(0), call.output_gradient, y(0), accumulate_parameters);
  write_weight_gradients(call.inputs[0], accumulate_parameters);
  write_input_gradient(y_, call);
}

void FirstTwin::write_weight_gradients(const Tensor& x, bool accumulate) {
  const Tensor dy = y_;
  if (rounded_gradient_) return convolution_->rounded_backward_weights(x, dy, rounded_gradient_);
  convolution_->backward_weights(x, dy, weight_gradient_, false);
  for (const int twin : {0, 1}) {
    const Tensor part = weights_in(weight_gradient_, twin, DType::f32);
    const Tensor sum{gradient(parts_[twin].weight), part.shape, DType::f32};
    accumulate ? backend().add(sum, part, sum) : backend().copy(sum.data, part.data, part.bytes());
  }
}

void FirstTwin::append_rounded_gradients(std::vector<CastPair>& pairs) const {
  if (!rounded_gradient_) return;
  for (const int twin : {0, 1}) {
    const Tensor part = weights_in(rounded_gradient_, twin, spec_.type);
    pairs.push_back({part, {gradient(parts_[twin].weight), part.shape, DType::f32}});
  }
}

/// The second twin: batch-norm and activation of its slice.
class SecondTwin : public ConvolutionLayer {
 public:
  SecondTwin(const LayerSetup& setup, FirstTwin& first)
      : ConvolutionLayer(convolution_of(setup), setup), first_(first) {}

  /// Called after the first twin's, which has the workspace.
  void bound() override { norm_->use(first_.workspace()); }
  CastPair weight_cast() const override { return first_.weight_cast(1); }
  void forward(const LayerCall& call) override {
    norm_->forward(first_.y(1), call.output, call.addend, first_.second_sums(), first_.sums_pitch());
  }
  void rebuild(const Tensor& output) override { norm_->recompute(first_.y(1), output); }
  void backward(const LayerCall& call, bool accumulate_parameters) override {
    norm_->backward(first_.y(1), call.output_gradient, first_.y(1), accumulate_parameters);
  }

 private:
  ConvolutionTensors tensors(const LayerCall&, const LayerCall&) const override { return {}; }

  FirstTwin& first_;
};

}  // namespace

bool can_be_twins(const ConvAttributes& first, const ConvAttributes& second) {
  return first.size == second.size && first.stride == second.stride && first.padding == second.padding &&
         first.groups == 1 && second.groups == 1 && first.filters % channel_multiple == 0 &&
         second.filters % channel_multiple == 0;
}

TwinLayers make_twin_layers(const LayerSetup& first, const LayerSetup& second) {
  auto layer = std::make_unique<FirstTwin>(first, second);
  auto other = std::make_unique<SecondTwin>(second, *layer);
  return {std::move(layer), std::move(other)};
}

}  // namespace brightnet
