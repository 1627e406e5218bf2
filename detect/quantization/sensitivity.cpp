#include "detect/quantization/sensitivity.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "detect/inference.h"

namespace brightnet {
namespace {

void keep_in_float(LayerQuantization& layer) {
  layer.weight_scales.clear();
  layer.before_activation.reset();
}

/// What is left of a quantisation when this convolution alone is computed by it.
Quantization alone(Quantization quantization, size_t layer) {
  for (size_t i = 0; i < quantization.size(); ++i) {
    if (i != layer) keep_in_float(quantization[i]);
  }
  return quantization;
}

/// Seconds of each layer for one image: the least of several passes, which is what the machine can do.
std::vector<double> layer_seconds(const TrainedModel& trained, Precision precision, Backend& backend,
                                  const CalibrationInputs& inputs) {
  constexpr int passes = 20;
  InferenceNetwork inference(trained, backend, {.precision = precision});
  inputs.infer(inference.network(), 0);
  std::vector<double> least(trained.model.layers.size(), std::numeric_limits<double>::infinity());
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<LayerTime> times;
    inference.network().profile(&times);
    inputs.infer(inference.network(), pass % inputs.count());
    inference.network().profile(nullptr);
    for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], times[i].forward);
  }
  return least;
}

double sum(const std::vector<double>& seconds) {
  double all = 0;
  for (const double of_layer : seconds) all += of_layer;
  return all;
}

}  // namespace

Sensitivity keep_sensitive_layers(Calibration& calibration, double max_loss, const CalibrationInputs& inputs,
                                  const EvaluateAP& evaluate) {
  constexpr double points = 100;
  TrainedModel& trained = calibration.quantized;
  Quantization& quantization = trained.model.quantization;
  const auto backend = make_cpu_backend();
  const std::vector<double> before = layer_seconds(trained, Precision::fp32, *backend, inputs);
  const std::vector<double> after = layer_seconds(trained, Precision::int8, *backend, inputs);
  Sensitivity result;
  result.AP_float = evaluate({});
  result.images_per_s_float = 1 / sum(before);
  std::vector<size_t> places;
  for (size_t i = 0; i < quantization.size(); ++i) {
    if (quantization[i].weight_scales.empty()) continue;
    places.push_back(i);
    const double gained = 1 / (sum(before) - before[i] + after[i]) - result.images_per_s_float;
    const double lost = points * (result.AP_float - evaluate(alone(quantization, i)));
    result.layers.push_back({trained.model.layers[i].name, lost, gained, false});
  }
  result.AP_quantized = evaluate(quantization);
  const auto lost = [&] { return points * (result.AP_float - result.AP_quantized); };
  // Puts those back, while too much is lost, that cost the most points for the speed that they bring. Where they cost nothing,
  // the least speed goes first.
  const auto put_back = [&](std::vector<size_t> candidates, const std::vector<double>& costs) {
    const auto dearness = [&](size_t k) {
      const double gained = result.layers[k].images_gained;
      return std::pair(std::max(costs[k], 0.0) / std::max(gained, 1e-3), -gained);
    };
    std::sort(candidates.begin(), candidates.end(),
              [&](size_t a, size_t b) { return dearness(a) > dearness(b); });
    for (const size_t k : candidates) {
      if (lost() <= max_loss) return;
      keep_in_float(quantization[places[k]]);
      result.layers[k].stays_float = true;
      result.AP_quantized = evaluate(quantization);
    }
  };
  std::vector<size_t> dear, others;
  std::vector<double> costs;
  for (size_t k = 0; k < places.size(); ++k) {
    costs.push_back(result.layers[k].AP_lost);
    (costs[k] > 0 ? dear : others).push_back(k);
  }
  put_back(dear, costs);
  if (lost() > max_loss) {
    for (const size_t k : others) {
      Quantization rest = quantization;
      keep_in_float(rest[places[k]]);
      costs[k] = points * (evaluate(rest) - result.AP_quantized);
    }
    put_back(others, costs);
  }
  if (lost() > max_loss) {
    throw InputError(
        fmt::format(
            "{:.2g} AP points are lost, more than {:g}, though all layers are in floating point again",
            lost(), max_loss),
        "--max-loss", "Allow for more: batch-norm is folded into the convolutions in any case.");
  }
  trained = with_part(calibration, quantization);
  result.images_per_s_quantized = 1 / sum(layer_seconds(trained, Precision::int8, *backend, inputs));
  return result;
}

}  // namespace brightnet
