// Tensors are named after the layer and what made them ("stage1.in/conv", "stage1.in/leaky"), so that a graph
// shown by Netron or a profiler reads like the model's YAML. Where ONNX has several ways to say a thing, this
// says it as OpenCV 4.6, ONNX Runtime and TensorRT all understand it.
#include "formats/onnx/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace brightnet {
namespace {

using Value = OnnxGraph::Value;
using Ints = OnnxGraph::Ints;

class LayerWriter {
 public:
  LayerWriter(OnnxGraph& graph, const Value& input, const Network& network, const TrainedModel& trained)
      : graph_(graph),
        input_(input),
        network_(network),
        layout_(trained.layout),
        parameters_(trained.values),
        quantization_(trained.model.quantization),
        signed_(is_symmetric(trained.model.quantization)) {}

  std::vector<Value> write() {
    const auto& layers = network_.setup().model->layers;
    if (is_quantized(network_input)) input_ = rounded(input_, input_, image());
    for (size_t i = 0; i < layers.size(); ++i) {
      layer_ = &layers[i];
      index_ = static_cast<int>(i);
      output_ = network_.output_shape(index_);
      const Value value =
          std::visit([this](const auto& attributes) { return add(attributes); }, layer_->attributes);
      outputs_.push_back(is_quantized(index_) ? rounded(value, value, range_of(index_)) : value);
    }
    return outputs_;
  }

 private:
  const Value& input(size_t i) const {
    const int from = layer_->inputs[i];
    return from == network_input ? input_ : outputs_[from];
  }
  Shape input_shape() const {
    const NetworkSetup& setup = network_.setup();
    const int from = layer_->inputs[0];
    return from == network_input ? Shape{setup.batch, setup.height, setup.width, setup.model->channels}
                                 : network_.output_shape(from);
  }
  int channels_of(size_t i) const {
    const int from = layer_->inputs[i];
    const Model& model = *network_.setup().model;
    return from == network_input ? model.channels : model.layers[from].channels;
  }
  // Quantised networks.

  /// Whether every zero point is that of signed values without one: they are written so, as TensorRT wants them.
  static bool is_symmetric(const Quantization& quantization) {
    return !quantization.empty() &&
           std::all_of(quantization.begin(), quantization.end(), [](const LayerQuantization& layer) {
             return !layer.output || layer.output == image_range || layer.output->zero_point == 128;
           });
  }
  bool is_quantized(int layer) const { return network_.stored_type(layer) == DType::u8; }
  QuantizedRange image() const { return signed_ ? QuantizedRange{1.0f / 127, 128} : image_range; }

  /// x rounded to the range's values: QuantizeLinear, DequantizeLinear.
  Value rounded(const std::string& of, const Value& x, const QuantizedRange& range) {
    const Value scale = graph_.scalar(of + "/scale", range.scale);
    const auto unsigned_zero = static_cast<uint8_t>(range.zero_point);
    const auto signed_zero = static_cast<int8_t>(range.zero_point - 128);
    const Value zero = signed_ ? graph_.integers<int8_t>(of + "/zero", {}, {&signed_zero, 1})
                               : graph_.integers<uint8_t>(of + "/zero", {}, {&unsigned_zero, 1});
    return graph_.add(of + "/rounded", "DequantizeLinear",
                      {graph_.add(of + "/quantized", "QuantizeLinear", {x, scale, zero}), scale, zero});
  }

  /// The weights of a convolution in 8 bits, [outputs, …], and its bias in the sums' 32.
  Value quantized_weights(const Ints& shape, const std::vector<float>& weights,
                          const std::vector<float>& scales) {
    std::vector<int8_t> values(weights.size());
    const size_t filter = weights.size() / scales.size();
    for (size_t i = 0; i < values.size(); ++i) values[i] = quantized_weight(weights[i], scales[i / filter]);
    const std::vector<int8_t> zeros(scales.size());
    return graph_.add(name("weight"), "DequantizeLinear",
                      {graph_.integers<int8_t>(name("weight/quantized"), shape, values),
                       graph_.floats(name("weight/scale"), {shape[0]}, scales),
                       graph_.integers<int8_t>(name("weight/zero"), {shape[0]}, zeros)},
                      {{"axis", int64_t{0}}});
  }
  Value quantized_bias(const std::vector<float>& bias, std::vector<float> scales, float input_scale) {
    std::vector<int32_t> values(bias.size());
    for (size_t c = 0; c < bias.size(); ++c) {
      scales[c] *= input_scale;
      values[c] = static_cast<int32_t>(std::nearbyint(bias[c] / scales[c]));
    }
    const Ints shape{static_cast<int64_t>(bias.size())};
    return graph_.add(name("bias"), "DequantizeLinear",
                      {graph_.integers<int32_t>(name("bias/quantized"), shape, values),
                       graph_.floats(name("bias/scale"), shape, scales)},
                      {{"axis", int64_t{0}}});
  }
  QuantizedRange range_of(int layer) const {
    if (layer == network_input) return image();
    const QuantizedRange& range = *quantization_[layer].output;
    return range == image_range ? image() : range;
  }
  QuantizedRange input_range() const { return range_of(layer_->inputs[0]); }
  const LayerQuantization* quantization() const {
    const bool here =
        network_.setup().precision == Precision::int8 && !quantization_[index_].weight_scales.empty();
    return here ? &quantization_[index_] : nullptr;
  }

  std::string name(const char* what) const { return layer_->name + '/' + what; }
  const ParameterEntry* parameter(const char* what) const { return layout_.find(layer_->name + '.' + what); }
  const float* value(const char* what) const { return parameters_.data() + parameter(what)->offset; }

  Value activated(Activation activation, const Value& x) {
    switch (activation) {
      case Activation::linear: return x;
      case Activation::relu: return graph_.add(name("relu"), "Relu", {x});
      case Activation::leaky: return graph_.add(name("leaky"), "LeakyRelu", {x}, {{"alpha", 0.1f}});
      case Activation::mish: {
        // ONNX has Mish from opset 18 on. Runtimes know these three and fuse them.
        const Value softplus = graph_.add(name("softplus"), "Softplus", {x});
        return graph_.add(name("mish"), "Mul", {x, graph_.add(name("tanh"), "Tanh", {softplus})});
      }
      case Activation::swish:
        return graph_.add(name("swish"), "Mul", {x, graph_.add(name("sigmoid"), "Sigmoid", {x})});
      case Activation::logistic: return graph_.add(name("logistic"), "Sigmoid", {x});
      case Activation::hardswish: {  // ONNX has HardSwish from opset 14 on
        const Value gate =
            graph_.add(name("gate"), "HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
        return graph_.add(name("hardswish"), "Mul", {x, gate});
      }
    }
    BRIGHTNET_CHECK(false, "an activation without a translation");
  }

  Value add(const ConvAttributes& conv) {
    const ParameterEntry& weight = *parameter("weight");
    std::vector<float> weights(value("weight"), value("weight") + weight.count);
    std::vector<float> bias(static_cast<size_t>(conv.filters));
    if (conv.batch_norm) {
      network_.setup().backend->fold_batch_norm(
          {value("weight"), value("scale"), value("shift"), value("running_mean"), value("running_variance"),
           batch_norm_epsilon, conv.filters, weight.count / bias.size(), weights.data(), bias.data()});
    } else {
      std::copy_n(value("bias"), bias.size(), bias.begin());
    }
    const int64_t channels = weight.shape[3], side = conv.size;
    const Ints shape{conv.filters, channels, side, side};
    const LayerQuantization* const eight_bits = quantization();
    Value x = input(0), w, b;
    if (eight_bits) {
      if (!is_quantized(layer_->inputs[0])) x = rounded(name("input"), x, input_range());
      w = quantized_weights(shape, to_oihw(weights, weight), eight_bits->weight_scales);
      b = quantized_bias(bias, eight_bits->weight_scales, input_range().scale);
    } else {
      w = graph_.floats(name("weight"), shape, to_oihw(weights, weight));
      b = graph_.floats(name("bias"), {conv.filters}, bias);
    }
    Value y = graph_.add(name("conv"), "Conv", {x, w, b},
                         {{"kernel_shape", Ints{side, side}},
                          {"strides", Ints{conv.stride, conv.stride}},
                          {"pads", Ints{conv.padding, conv.padding, conv.padding, conv.padding}},
                          {"dilations", Ints{1, 1}},
                          {"group", conv.groups}});
    if (eight_bits && eight_bits->before_activation) y = rounded(y, y, *eight_bits->before_activation);
    return activated(conv.activation, y);
  }

  static std::vector<float> to_oihw(const std::vector<float>& ohwi, const ParameterEntry& entry) {
    const auto pixels = static_cast<size_t>(entry.shape[1] * entry.shape[2]);
    const auto channels = static_cast<size_t>(entry.shape[3]);
    std::vector<float> oihw(ohwi.size());
    for (size_t filter = 0; filter < ohwi.size(); filter += pixels * channels) {
      for (size_t pixel = 0; pixel < pixels; ++pixel) {
        for (size_t c = 0; c < channels; ++c)
          oihw[filter + c * pixels + pixel] = ohwi[filter + pixel * channels + c];
      }
    }
    return oihw;
  }

  /// darknet pads by window − 1 in all, the smaller half before. Padding that no window reaches is left out: at an
  /// even side a 2 × 2 pool of stride 2 needs none.
  Value pool(const std::string& pool_name, const char* op, int window, int stride,
             const std::vector<OnnxGraph::Attribute>& more = {}) {
    const Shape in = input_shape();
    const int before = (window - 1) / 2;
    const auto after = [&](int side) {
      const int pooled = (side - 1) / stride + 1;
      return std::max(0, (pooled - 1) * stride + window - before - side);
    };
    std::vector<OnnxGraph::Attribute> attributes{{"kernel_shape", Ints{window, window}},
                                                 {"strides", Ints{stride, stride}},
                                                 {"pads", Ints{before, before, after(in.h), after(in.w)}}};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return graph_.add(pool_name, op, {input(0)}, attributes);
  }

  /// Averages leave the padding out, as darknet's do.
  Value add(const AveragePoolAttributes& average) {
    return pool(name("average_pool"), "AveragePool", average.size, average.stride,
                {{"count_include_pad", 0}});
  }

  Value add(const GlobalPoolAttributes&) {
    return graph_.add(name("global_average_pool"), "GlobalAveragePool", {input(0)});
  }

  Value add(const ScaleChannelsAttributes&) { return graph_.add(name("scale"), "Mul", {input(0), input(1)}); }

  // The factors are written as they are used: normalised.
  Value add(const WeightedSumAttributes& sum) {
    const int inputs = static_cast<int>(layer_->inputs.size()), channels = output_.c;
    std::vector<float> factors(inputs * static_cast<size_t>(channels));
    network_.setup().backend->sum_factors({inputs, channels, sum.weights, sum.normalization}, value("weight"),
                                          factors.data());
    Value total;
    for (int i = 0; i < inputs; ++i) {
      const std::string number = std::to_string(i);
      const std::vector<float> row(factors.begin() + i * channels, factors.begin() + (i + 1) * channels);
      const Value factor = graph_.floats(name("factors") + number, {1, channels, 1, 1}, row);
      const Value term = graph_.add(name("term") + number, "Mul", {input(static_cast<size_t>(i)), factor});
      total = i == 0 ? term : graph_.add(name("sum") + number, "Add", {total, term});
    }
    return activated(sum.activation, total);
  }

  Value add(const MaxPoolAttributes& max) { return pool(name("max_pool"), "MaxPool", max.size, max.stride); }

  Value add(const SppAttributes& spp) {
    std::vector<Value> parts;
    for (const int window : spp.largest_first())
      parts.push_back(pool(name("max_pool") + std::to_string(window), "MaxPool", window, 1));
    parts.push_back(input(0));
    return graph_.concat(name("spp"), parts, 1);
  }

  Value add(const ConcatAttributes&) {
    std::vector<Value> parts;
    for (size_t i = 0; i < layer_->inputs.size(); ++i) parts.push_back(input(i));
    return graph_.concat(name("concat"), parts, 1);
  }

  Value add(const SplitAttributes& split) {
    return graph_.slice(name("split"), input(0), 1, static_cast<int64_t>(split.part) * output_.c,
                        static_cast<int64_t>(split.part + 1) * output_.c);
  }

  Value add(const ChannelShuffleAttributes& shuffle) {
    const int64_t channels = output_.c, pixels = int64_t{output_.h} * output_.w;
    const Value groups =
        graph_.reshape(name("groups"), input(0), {0, shuffle.groups, channels / shuffle.groups, pixels});
    const Value turned = graph_.transpose(name("turned"), groups, {0, 2, 1, 3});
    return graph_.reshape(name("channel_shuffle"), turned, {0, channels, output_.h, output_.w});
  }

  Value add(const ShortcutAttributes& shortcut) {
    const int channels = output_.c, added = channels_of(1);
    Value sum;
    if (added == channels) {
      sum = graph_.add(name("add"), "Add", {input(0), input(1)});
    } else if (added > channels) {
      sum = graph_.add(name("add"), "Add", {input(0), graph_.slice(name("part"), input(1), 1, 0, channels)});
    } else {
      const Value both = graph_.slice(name("part"), input(0), 1, 0, added);
      const Value rest = graph_.slice(name("rest"), input(0), 1, added, channels);
      sum = graph_.concat(name("sum"), {graph_.add(name("add"), "Add", {both, input(1)}), rest}, 1);
    }
    return activated(shortcut.activation, sum);
  }

  Value add(const MultiplyAttributes&) { return graph_.add(name("multiply"), "Mul", {input(0), input(1)}); }

  // Every block-th pixel of every block-th row, from each of the block's places. ONNX's SpaceToDepth is the
  // same, and OpenCV does not know it.
  Value add(const SpaceToDepthAttributes& fold) {
    const int64_t block = fold.block, end = std::numeric_limits<int32_t>::max();
    const Value last = graph_.ints(name("last"), {end, end}), axes = graph_.ints(name("axes"), {2, 3});
    const Value steps = graph_.ints(name("steps"), {block, block});
    std::vector<Value> parts;
    for (int64_t row = 0; row < block; ++row) {
      for (int64_t column = 0; column < block; ++column) {
        const std::string place = std::to_string(row) + '_' + std::to_string(column);
        const Value first = graph_.ints(name("first") + place, {row, column});
        parts.push_back(graph_.add(name("every") + place, "Slice", {input(0), first, last, axes, steps}));
      }
    }
    return graph_.concat(name("space_to_depth"), parts, 1);
  }

  Value add(const UpsampleAttributes& upsample) {
    const auto factor = static_cast<float>(upsample.factor);
    const std::vector<float> scales{1, 1, factor, factor};
    return graph_.add(
        name("upsample"), "Resize", {input(0), "", graph_.floats(name("scales"), {4}, scales)},
        {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}});
  }

  Value add(const YoloAttributes&) { return input(0); }

  OnnxGraph& graph_;
  Value input_;
  const Network& network_;
  const ParameterLayout& layout_;
  const std::vector<float>& parameters_;
  const Quantization& quantization_;
  const bool signed_;  ///< 8-bit activations are written as int8 without a zero point, else as uint8
  std::vector<Value> outputs_;
  const LayerDescription* layer_ = nullptr;
  int index_ = 0;
  Shape output_;
};

}  // namespace

std::vector<OnnxGraph::Value> add_layers(OnnxGraph& graph, const Value& input, const Network& network,
                                         const TrainedModel& trained) {
  return LayerWriter(graph, input, network, trained).write();
}

}  // namespace brightnet
