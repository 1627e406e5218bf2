#include "detect/quantization/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/enum_names.h"
#include "detect/inference.h"
#include "detect/input_loader.h"
#include "detect/quantization/fold.h"
#include "detect/sources/dataset_source.h"

namespace brightnet {
namespace {

std::span<const float> values_of(const Tensor& tensor) {
  return {tensor.as<float>(), tensor.count()};
}

/// Which convolutions are quantised, and which ranges they need.
struct Parts {
  std::vector<int> ranges;                ///< range of the image and of each layer's output: shared_ranges()
  std::vector<bool> convolutions;         ///< whether each layer is quantised
  std::set<int> needed;                   ///< ranges that a quantised convolution reads
  std::vector<std::vector<int>> readers;  ///< quantised convolutions that read each layer's output
  bool with_image = false;                ///< the image shares a range with what layers compute

  explicit Parts(const Model& model)
      : ranges(shared_ranges(model)), convolutions(model.layers.size()), readers(model.layers.size()) {
    const std::vector<bool> predicts = predicting_layers(model);
    for (size_t i = 0; i < model.layers.size(); ++i) {
      with_image = with_image || (is_of_image(static_cast<int>(i)) && !moves_values(model.layers[i]));
      const auto* conv = std::get_if<ConvAttributes>(&model.layers[i].attributes);
      convolutions[i] = conv && !conv->full_precision && !predicts[i];
      const int input = convolutions[i] ? model.layers[i].inputs[0] : network_input;
      if (input == network_input) continue;
      needed.insert(of(input));
      readers[input].push_back(static_cast<int>(i));
    }
  }
  int of(int layer) const { return ranges[layer + 1]; }
  bool is_of_image(int layer) const { return of(layer) == of(network_input); }
};

/// What the ranges are chosen from: first the extremes of all values, then, in a second pass, their distribution.
class ValueObserver : public LayerObserver {
 public:
  enum class Pass : uint8_t { extremes, distribution };

  ValueObserver(const Model& model, const Parts& parts)
      : model_(model),
        parts_(parts),
        outputs(parts.ranges.size()),
        before(model.layers.size()),
        means(model.layers.size()) {}

  void begin(Pass pass) { pass_ = pass; }

  /// The network's input, which no layer puts out.
  void image(std::span<const float> pixels) {
    if (!parts_.with_image) return;
    static constexpr std::array<float, 2> extremes{0, 1};  // other images have them
    see(outputs[parts_.of(network_input)],
        pass_ == Pass::extremes ? std::span<const float>(extremes) : pixels);
  }

  void before_activation(int layer, const Tensor& y) override {
    if (parts_.convolutions[layer]) see(before[layer], values_of(y));
  }
  void output(int layer, const Tensor& y) override {
    const auto i = static_cast<size_t>(layer);
    if (!moves_values(model_.layers[i])) see(outputs[parts_.of(layer)], values_of(y));
    if (pass_ == Pass::extremes) return;
    for (const int reader : parts_.readers[i])
      means[reader].add(std::get<ConvAttributes>(model_.layers[reader].attributes), y);
  }

 private:
  void see(Histogram& histogram, std::span<const float> values) {
    pass_ == Pass::extremes ? histogram.widen(values) : histogram.add(values);
  }

  const Model& model_;
  const Parts& parts_;
  Pass pass_ = Pass::extremes;

 public:
  std::vector<Histogram> outputs;  ///< values of the outputs, by range
  std::vector<Histogram> before;   ///< values before the activation, by layer
  std::vector<InputMeans> means;   ///< means of the inputs, by the convolution that reads them
};

/// Rounds what has one range.
class RoundingObserver : public LayerObserver {
 public:
  RoundingObserver(const Model& model, const Parts& parts) : model_(model), parts_(parts) {}
  void round(int of, const std::optional<QuantizedRange>& range) {
    of_ = of;
    range_ = range;
  }
  void output(int layer, const Tensor& y) override {
    if (!range_ || parts_.of(layer) != of_ || was_rounded(model_.layers[layer])) return;
    float* const values = y.as<float>();
    for (size_t i = 0; i < y.count(); ++i) values[i] = dequantized(quantized(values[i], *range_), *range_);
  }

 private:
  /// Whether a layer moves values that were rounded where they came from: all but the image's.
  static bool was_rounded(const LayerDescription& layer) {
    return moves_values(layer) &&
           std::find(layer.inputs.begin(), layer.inputs.end(), network_input) == layer.inputs.end();
  }

  const Model& model_;
  const Parts& parts_;
  int of_ = 0;
  std::optional<QuantizedRange> range_;
};

/// Compares the heads' logits with those of fp32.
class LogitError {
 public:
  LogitError(Network& network, const CalibrationInputs& inputs, int compared)
      : network_(network), inputs_(inputs), compared_(std::min(compared, inputs.count())) {
    for (int i = 0; i < compared_; ++i) {
      inputs_.infer(network_, i);
      for_each_head([&](const YoloHead&, std::span<const float> logits) {
        references_.emplace_back(logits.begin(), logits.end());
      });
    }
  }

  double now() const {
    double error = 0, weights = 0;
    auto reference = references_.begin();
    for (int i = 0; i < compared_; ++i) {
      inputs_.infer(network_, i);
      for_each_head([&](const YoloHead& head, std::span<const float> logits) {
        add(head, *reference++, logits, error, weights);
      });
    }
    return error / weights;
  }

 private:
  template <typename F>
  void for_each_head(F&& f) const {
    const auto& layers = network_.setup().model->layers;
    for (int i = 0; i < network_.layer_count(); ++i) {
      if (const auto* yolo = std::get_if<YoloAttributes>(&layers[i].attributes))
        f(yolo->head, values_of(network_.output(i)));
    }
  }
  static void add(const YoloHead& head, std::span<const float> reference, std::span<const float> logits,
                  double& error, double& weights) {
    const auto values = static_cast<size_t>(head.values());
    for (size_t at = 0; at < logits.size(); at += values) {
      const double weight = 1 / (1 + std::exp(-static_cast<double>(reference[at + 4])));
      double change = 0;
      for (size_t k = at; k < at + values; ++k) change += std::pow(logits[k] - reference[k], 2);
      error += weight * change;
      weights += weight;
    }
  }

  Network& network_;
  const CalibrationInputs& inputs_;
  const int compared_;
  std::vector<std::vector<float>> references_;
};

std::vector<std::string> convolutions_with(const Model& model, const Parts& parts, int range) {
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(model.layers.size()); ++i) {
    const LayerDescription& layer = model.layers[i];
    if (parts.of(i) == range && !moves_values(layer)) names.push_back(layer.name);
  }
  return names;
}

class Calibrator {
 public:
  Calibrator(const TrainedModel& trained, const CalibrationInputs& inputs, const CalibrationOptions& options)
      : backend_(make_cpu_backend()),
        inputs_(inputs),
        options_(options),
        network_(without_batch_norm(trained, *backend_)),
        parts_(network_.model) {}

  Calibration run() {
    Calibration result;
    if (options_.equalize) result.equalized_pairs = equalize(network_);
    ValueObserver values(network_.model, parts_);
    observe(values);
    result.ranges = choose_ranges(values);
    network_.model.quantization.resize(network_.model.layers.size());
    result.uncorrected_biases.resize(network_.model.layers.size());
    for (int i = 0; i < static_cast<int>(network_.model.layers.size()); ++i) {
      LayerQuantization& layer = network_.model.quantization[i];
      if (const auto found = chosen_.find(parts_.of(i)); found != chosen_.end()) layer.output = found->second;
      if (!parts_.convolutions[i]) continue;
      const int input = network_.model.layers[i].inputs[0];
      const float input_scale =
          input == network_input ? image_range.scale : chosen_.at(parts_.of(input)).scale;
      layer.weight_scales = weight_scales(network_, i, input_scale);
      const Activation activation = std::get<ConvAttributes>(network_.model.layers[i].attributes).activation;
      if (rounds_before(activation))
        layer.before_activation = range_before(values.before[i], activation, options_.symmetric);
      if (options_.correct_bias && input != network_input) {
        const std::span<float> biases = biases_of(network_, i);
        result.uncorrected_biases[i].assign(biases.begin(), biases.end());
        correct_bias(network_, i, layer.weight_scales, values.means[i]);
      }
    }
    result.quantized = std::move(network_);
    return result;
  }

 private:
  void step() {
    if (options_.progress) options_.progress(++done_, steps());
  }
  int steps() const {
    const int methods = static_cast<int>(enum_values<CalibrationMethod>().size());
    return 2 * inputs_.count() + methods * static_cast<int>(parts_.needed.size());
  }

  InferenceNetwork observed_by(LayerObserver& observer) const {
    return {network_, *backend_, {.observer = &observer}};
  }

  void observe(ValueObserver& values) {
    InferenceNetwork inference = observed_by(values);
    for (const auto pass : {ValueObserver::Pass::extremes, ValueObserver::Pass::distribution}) {
      values.begin(pass);
      for (int i = 0; i < inputs_.count(); ++i) {
        values.image(inputs_.values(i));
        inputs_.infer(inference.network(), i);
        step();
      }
    }
  }

  std::vector<RangeChoice> choose_ranges(const ValueObserver& values) {
    RoundingObserver rounding(network_.model, parts_);
    InferenceNetwork inference = observed_by(rounding);
    const LogitError error(inference.network(), inputs_, options_.compared);
    std::vector<RangeChoice> choices;
    for (const int range : parts_.needed) {
      RangeChoice choice;
      choice.layers = convolutions_with(network_.model, parts_, range);
      if (choice.layers.empty()) {  // nothing but the image's pixels, moved
        chosen_[range] = image_range;
        for (size_t i = 0; i < enum_values<CalibrationMethod>().size(); ++i) step();
        continue;
      }
      choice.error = INFINITY;
      for (const CalibrationMethod method : enum_values<CalibrationMethod>()) {
        QuantizedRange found = calibrated_range(values.outputs[range], method, options_.symmetric);
        if (range == parts_.of(network_input) && found.most() < 1)  // white stays white
          found = range_between(found.least(), 1, options_.symmetric);
        rounding.round(range, found);
        const double now = error.now();
        if (method == CalibrationMethod::min_max) choice.error_of_min_max = now;
        if (now < choice.error) choice = {choice.layers, method, found, now, choice.error_of_min_max};
        step();
      }
      chosen_[range] = choice.range;
      choices.push_back(std::move(choice));
    }
    return choices;
  }

  const std::unique_ptr<Backend> backend_;
  const CalibrationInputs& inputs_;
  const CalibrationOptions& options_;
  TrainedModel network_;
  const Parts parts_;
  std::map<int, QuantizedRange> chosen_;
  int done_ = 0;
};

}  // namespace

CalibrationInputs::CalibrationInputs(const Dataset& images, int count, const InputFit& fit, int workers)
    : has_values_(as_darknet(fit.resize)) {
  const auto all = static_cast<int>(images.images.size());
  count = std::min(count, all);
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(static_cast<int>(static_cast<int64_t>(i) * all / count));
  DatasetSource source(images, order, fit);
  InputLoader loader(source, {.batch = 1, .fit = fit, .workers = workers});
  const size_t bytes =
      fit.size.pixels() * static_cast<size_t>(fit.channels) * (has_values_ ? sizeof(float) : 1);
  while (const InputLoader::Batch* batch = loader.next()) {
    const auto* input = static_cast<const std::byte*>(batch->input);
    inputs_.emplace_back(input, input + bytes);
  }
}

std::vector<float> CalibrationInputs::values(int input) const {
  const std::vector<std::byte>& bytes = inputs_[input];
  std::vector<float> values(has_values_ ? bytes.size() / sizeof(float) : bytes.size());
  if (has_values_) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    std::transform(bytes.begin(), bytes.end(), values.begin(), [](std::byte pixel) {
      return image_range.scale * static_cast<float>(std::to_integer<int>(pixel));
    });
  }
  return values;
}

void CalibrationInputs::infer(Network& network, int input) const {
  const void* data = inputs_[input].data();
  if (has_values_) {
    network.set_values(static_cast<const float*>(data));
  } else {
    network.set_pixels(static_cast<const uint8_t*>(data));
  }
  network.infer();
}

Calibration calibrate(const TrainedModel& trained, const CalibrationInputs& inputs,
                      const CalibrationOptions& options) {
  return Calibrator(trained, inputs, options).run();
}

TrainedModel with_part(const Calibration& calibration, Quantization part) {
  TrainedModel network = calibration.quantized;
  for (int i = 0; i < static_cast<int>(part.size()); ++i) {
    const std::vector<float>& uncorrected = calibration.uncorrected_biases[i];
    if (part[i].weight_scales.empty() && !uncorrected.empty())
      std::copy(uncorrected.begin(), uncorrected.end(), biases_of(network, i).begin());
  }
  network.model.quantization = std::move(part);
  return network;
}

}  // namespace brightnet
