#include "detect/quantization/fold.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "layers/layer.h"

namespace brightnet {
namespace {

const ConvAttributes* convolution(const Model& model, int layer) {
  return std::get_if<ConvAttributes>(&model.layers[layer].attributes);
}

/// The parameter "layer.what", in the values of the model; to be written where the model is not const.
template <typename Trained>
auto values_of(Trained& trained, int layer, const char* what) {
  const std::string name = trained.model.layers[layer].name + '.' + what;
  const ParameterEntry* entry = trained.layout.find(name);
  BRIGHTNET_CHECK(entry, "there is no parameter " + name);
  return std::span(trained.values.data() + entry->offset, entry->count);
}

/// f(s·x) = s·f(x) for every s above 0.
bool is_homogeneous(Activation activation) {
  switch (activation) {
    case Activation::linear:
    case Activation::relu:
    case Activation::leaky: return true;
    case Activation::mish:
    case Activation::swish:
    case Activation::logistic:
    case Activation::hardswish: return false;
  }
  return false;
}

/// Two convolutions, the second of which is the only layer that reads the first.
struct LayerPair {
  int first = 0, second = 0;
};

std::vector<LayerPair> equalizable_pairs(const Model& model) {
  std::vector<std::vector<int>> readers(model.layers.size());
  for (int i = 0; i < static_cast<int>(model.layers.size()); ++i) {
    for (const int input : model.layers[i].inputs) {
      if (input != network_input) readers[input].push_back(i);
    }
  }
  std::vector<LayerPair> pairs;
  for (int i = 0; i < static_cast<int>(model.layers.size()); ++i) {
    const auto& of = readers[i];
    const ConvAttributes* conv = convolution(model, i);
    if (conv && is_homogeneous(conv->activation) && of.size() == 1 && convolution(model, of[0]))
      pairs.push_back({i, of[0]});
  }
  return pairs;
}

/// The weights of a convolution by their output channel and by the input channel that they read.
template <typename Trained>
class LayerWeights {
 public:
  LayerWeights(Trained& trained, int layer)
      : values_(values_of(trained, layer, "weight")), conv_(*convolution(trained.model, layer)) {
    filter_ = values_.size() / conv_.filters;
    inputs_ = filter_ / (static_cast<size_t>(conv_.size) * conv_.size);
  }

  /// Calls f(weight) for all weights of an output channel.
  template <typename F>
  void of_output(size_t channel, F&& f) const {
    for (size_t i = 0; i < filter_; ++i) f(values_[channel * filter_ + i]);
  }
  /// Calls f(weight) for all weights that read an input channel.
  template <typename F>
  void of_input(size_t channel, F&& f) const {
    const size_t outputs = conv_.filters / conv_.groups, group = channel / inputs_;
    for (size_t o = group * outputs; o < (group + 1) * outputs; ++o) {
      for (size_t i = channel % inputs_; i < filter_; i += inputs_) f(values_[o * filter_ + i]);
    }
  }
  size_t outputs() const { return conv_.filters; }
  /// Channels that each output reads.
  size_t inputs() const { return inputs_; }
  /// The input channel that element i of an output channel's weights reads.
  size_t input(size_t output, size_t i) const {
    return output / (outputs() / conv_.groups) * inputs_ + i % inputs_;
  }

 private:
  std::span<std::conditional_t<std::is_const_v<Trained>, const float, float>> values_;
  const ConvAttributes& conv_;
  size_t filter_ = 0, inputs_ = 0;
};

/// Returns the largest |log s| of the pair.
double equalize(TrainedModel& trained, const LayerPair& pair) {
  const LayerWeights first(trained, pair.first), second(trained, pair.second);
  const std::span<float> bias = values_of(trained, pair.first, "bias");
  double largest = 0;
  for (size_t c = 0; c < first.outputs(); ++c) {
    float r1 = 0, r2 = 0;
    first.of_output(c, [&](float w) { r1 = std::max(r1, std::abs(w)); });
    second.of_input(c, [&](float w) { r2 = std::max(r2, std::abs(w)); });
    if (r1 == 0 || r2 == 0) continue;
    const float s = std::sqrt(r1 / r2);
    first.of_output(c, [&](float& w) { w /= s; });
    bias[c] /= s;
    second.of_input(c, [&](float& w) { w *= s; });
    largest = std::max(largest, std::abs(std::log(static_cast<double>(s))));
  }
  return largest;
}

}  // namespace

TrainedModel without_batch_norm(const TrainedModel& trained, Backend& backend) {
  TrainedModel folded = trained;
  for (LayerDescription& layer : folded.model.layers) {
    if (auto* conv = std::get_if<ConvAttributes>(&layer.attributes)) conv->batch_norm = false;
  }
  folded.model.description = YAML::Node(YAML::NodeType::Null);  // it described the batch-norms
  folded.layout = ParameterLayout(folded.model);
  folded.values.assign(folded.layout.floats(), 0.0f);
  for (const ParameterEntry& entry : folded.layout.entries()) {
    if (const ParameterEntry* same = trained.layout.find(entry.name))
      std::copy_n(trained.values.data() + same->offset, entry.count, folded.values.data() + entry.offset);
  }
  for (int i = 0; i < static_cast<int>(trained.model.layers.size()); ++i) {
    const ConvAttributes* conv = convolution(trained.model, i);
    if (!conv || !conv->batch_norm) continue;
    const auto value = [&](const char* what) { return values_of(trained, i, what).data(); };
    const std::span<float> weight = values_of(folded, i, "weight");
    backend.fold_batch_norm({value("weight"), value("scale"), value("shift"), value("running_mean"),
                             value("running_variance"), batch_norm_epsilon, conv->filters,
                             weight.size() / conv->filters, weight.data(),
                             values_of(folded, i, "bias").data()});
  }
  return folded;
}

int equalize(TrainedModel& trained) {
  constexpr int most_rounds = 50;
  constexpr double unchanged = 1e-3;
  const std::vector<LayerPair> pairs = equalizable_pairs(trained.model);
  for (int round = 0; round < most_rounds; ++round) {
    double largest = 0;
    for (const LayerPair& pair : pairs) largest = std::max(largest, equalize(trained, pair));
    if (largest < unchanged) break;
  }
  return static_cast<int>(pairs.size());
}

std::vector<float> weight_scales(const TrainedModel& trained, int layer, float input_scale) {
  constexpr float most_units = 1 << 29;  // of the bias, and twice as many remain for its correction
  const LayerWeights weights(trained, layer);
  const std::span<const float> bias = values_of(trained, layer, "bias");
  std::vector<float> scales(weights.outputs());
  for (size_t c = 0; c < scales.size(); ++c) {
    float greatest = 0;
    weights.of_output(c, [&](float w) { greatest = std::max(greatest, std::abs(w)); });
    scales[c] = std::max(greatest / largest_weight, std::abs(bias[c]) / (most_units * input_scale));
    if (scales[c] == 0) scales[c] = 1;
  }
  return scales;
}

void InputMeans::add(const ConvAttributes& conv, const Tensor& x) {
  const Shape& in = x.shape;
  kernel_ = conv.size;
  channels_ = in.c;
  sums_.resize(static_cast<size_t>(kernel_) * kernel_ * channels_);
  const auto outputs_of = [&](int side) { return (side + 2 * conv.padding - conv.size) / conv.stride + 1; };
  const int rows = outputs_of(in.h), columns = outputs_of(in.w);
  outputs_ += static_cast<double>(in.n) * rows * columns;
  for (int tap = 0; tap < kernel_ * kernel_; ++tap) {
    double* const sums = sums_.data() + tap * channels_;
    for (int row = 0; row < in.n * rows; ++row) {
      const int y = row % rows * conv.stride + tap / kernel_ - conv.padding;
      if (y < 0 || y >= in.h) continue;
      for (int column = 0; column < columns; ++column) {
        const int at = column * conv.stride + tap % kernel_ - conv.padding;
        if (at < 0 || at >= in.w) continue;
        const float* const pixel =
            x.as<float>() + ((static_cast<size_t>(row / rows) * in.h + y) * in.w + at) * channels_;
        for (size_t c = 0; c < channels_; ++c) sums[c] += pixel[c];
      }
    }
  }
}

std::span<float> biases_of(TrainedModel& trained, int layer) {
  return values_of(trained, layer, "bias");
}

void correct_bias(TrainedModel& trained, int layer, const std::vector<float>& scales,
                  const InputMeans& means) {
  const LayerWeights weights(trained, layer);
  const int kernel = convolution(trained.model, layer)->size;
  const std::span<float> bias = biases_of(trained, layer);
  for (size_t o = 0; o < weights.outputs(); ++o) {
    double shift = 0;
    size_t i = 0;
    weights.of_output(o, [&](float w) {
      const double rounded = static_cast<double>(quantized_weight(w, scales[o])) * scales[o];
      const int tap = static_cast<int>(i / weights.inputs());
      shift += (rounded - w) * means.of(tap / kernel, tap % kernel, weights.input(o, i++));
    });
    bias[o] -= static_cast<float>(shift);
  }
}

}  // namespace brightnet
