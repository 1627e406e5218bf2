#include "brightnet/quantize.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "brightnet/scores.h"
#include "core/enum_names.h"
#include "core/json.h"
#include "core/log.h"
#include "core/option_ranges.h"
#include "core/progress_line.h"
#include "core/threads.h"
#include "data/formats/recognize.h"
#include "detect/quantization/calibrate.h"
#include "detect/quantization/sensitivity.h"
#include "kernels/device/device.h"
#include "train/setup/data_sets.h"
#include "train/setup/named_run.h"

namespace brightnet {
namespace {

/// Runs measurements of AP, which differ in the network alone.
class ApMeasurement {
 public:
  /// Measures the network in fp32, which refuses data that it cannot be measured on.
  ApMeasurement(const Weights& original, const QuantizationOptions& options)
      : options_(options), fp32_(ap_of(original, "fp32")) {}

  /// Without a quantisation, in fp32.
  double operator()(const Calibration& calibration, const Quantization& quantization) {
    if (quantization.empty()) return fp32_;
    ++done_;
    auto trained = std::make_shared<const TrainedModel>(with_part(calibration, quantization));
    const double ap = ap_of(Weights(std::move(trained)), "int8");
    if (line_.due()) line_.show(fmt::format("measuring AP, {} networks done, the last AP {:.4f}", done_, ap));
    return ap;
  }
  void clear() { line_.clear(); }

 private:
  double ap_of(const Weights& weights, const char* precision) const {
    return measure(weights, options_.data,
                   {.device = {.device = "cpu", .precision = precision}, .settings = options_.settings})
        .AP;
  }

  const QuantizationOptions& options_;
  const double fp32_;
  ProgressLine line_{10};
  int done_ = 1;
};

Json ranges_json(const Calibration& calibration) {
  Json ranges = Json::array();
  for (const RangeChoice& choice : calibration.ranges) {
    ranges.push_back({{"layers", choice.layers},
                      {"method", enum_name(choice.method)},
                      {"scale", shortest(choice.range.scale)},
                      {"zero_point", choice.range.zero_point},
                      {"error", choice.error},
                      {"error_of_min_max", choice.error_of_min_max}});
  }
  return ranges;
}

std::string ranges_text(const Calibration& calibration) {
  std::string text = fmt::format("{:<40} {:<14} {:>10} {:>5} {:>10} {:>10}\n", "outputs of", "range by",
                                 "scale", "zero", "error", "min-max's");
  for (const RangeChoice& choice : calibration.ranges) {
    text += fmt::format("{:<40} {:<14} {:>10.6f} {:>5} {:>10.2e} {:>10.2e}\n",
                        fmt::format("{}", fmt::join(choice.layers, ", ")), enum_name(choice.method),
                        choice.range.scale, choice.range.zero_point, choice.error, choice.error_of_min_max);
  }
  return text;
}

Json sensitivity_json(const Sensitivity& sensitivity) {
  Json layers = Json::array();
  for (const LayerSensitivity& layer : sensitivity.layers) {
    layers.push_back({{"name", layer.name},
                      {"AP_points_lost", layer.AP_lost},
                      {"images_per_s_gained", layer.images_gained},
                      {"precision", layer.stays_float ? "fp32" : "int8"}});
  }
  return layers;
}

std::string sensitivity_text(const Sensitivity& sensitivity) {
  std::string text = fmt::format("\n{:<24} {:>12} {:>14}   {}\n", "this layer alone", "AP points", "images/s",
                                 "and so it is");
  for (const LayerSensitivity& layer : sensitivity.layers) {
    text += fmt::format("{:<24} {:>+12.2f} {:>+14.2f}   {}\n", layer.name, -layer.AP_lost,
                        layer.images_gained, layer.stays_float ? "fp32" : "int8");
  }
  text += fmt::format(
      "\nfp32: AP {:.4f}, {:.1f} images/s (the network alone, one image at a time)\n"
      "int8: AP {:.4f}, {:.1f} images/s\n",
      sensitivity.AP_float, sensitivity.images_per_s_float, sensitivity.AP_quantized,
      sensitivity.images_per_s_quantized);
  return text;
}

/// The run whose training images calibrate. Of a folder of images the pixels are all that is needed.
RunConfig run_to_calibrate_on(const NamedRun& named, const QuantizationOptions& options, bool measures) {
  const std::optional<RecognizedData> images = recognize_images(options.data);
  if (images && measures && images->options.format == &unlabelled_format()) {
    throw InputError(
        "these images have no labels, by which AP is measured", options.data,
        "Give the data set that the network was trained on, or leave out --max-loss: calibration "
        "needs no labels.");
  }
  if (!images || measures) {
    named.say_data();
    return named.load();
  }
  log::info("Data: {}", images->text());
  Overrides overrides(options.settings);
  DataOptions& folder = overrides.data.emplace();  // of a format that data.format knows, until it is read
  folder.root = images->options.root;
  folder.train = images->options.train;
  RunConfig config = load_run_config("", overrides);
  config.data.format = &unlabelled_format();
  return config;
}

/// What training sees; `count` of them will be looked at.
Dataset images_to_calibrate_on(const RunConfig& config, const TrainedModel& trained, int count) {
  const auto tiles = trained.training.find("tiles");
  if (tiles != trained.training.end() && !config.data.tiles) {
    log::warn(
        "These weights were trained on tiles of larger pictures ({}), and are calibrated on whole pictures: give the run's "
        "own configuration as the data, or another with data.tiles.",
        tiles->second);
  }
  Dataset images = training_images(config, read_split(config, Split::train));
  const std::ptrdiff_t all = std::ssize(images.images);
  log::info("Calibrating on {} of {} {}{} at {}", std::min<std::ptrdiff_t>(count, all), all,
            config.data.tiles ? "tiles of the " : "",
            config.data.format == &unlabelled_format() ? "images" : "training images",
            trained.size.described());
  return images;
}

}  // namespace

QuantizedWeights quantize(const Weights& weights, const QuantizationOptions& options) {
  const OptionRanges ranges("QuantizationOptions");
  ranges.at_least(1, "images", options.images);
  if (std::isnan(options.max_loss)) ranges.refuse("max_loss is nan and must be a number");
  const TrainedModel& trained = weights.trained();
  if (!trained.model.quantization.empty()) {
    throw InputError(
        "these weights are quantised already", "",
        "Without --int8 they are exported with the scales that they have; to calibrate anew, give those that "
        "they were made from.");
  }
  const bool measures = options.max_loss >= 0;
  if (measures) open_device("cpu", Precision::int8);  // refuses before the work
  const NamedRun named(configuration_at(options.data, options.settings), measures);
  RunConfig config = run_to_calibrate_on(named, options, measures);
  config.data.takes_settings = false;
  std::optional<ApMeasurement> ap;
  if (measures) ap.emplace(weights, options);
  const Dataset images = images_to_calibrate_on(config, trained, options.images);
  const CalibrationInputs inputs(images, options.images, trained.fit(), std::min(compute_threads(), 8));
  ProgressLine line(10);
  Calibration calibration = calibrate(trained, inputs,
                                      {.symmetric = options.symmetric,
                                       .equalize = options.equalize,
                                       .correct_bias = options.correct_bias,
                                       .progress = [&](int done, int all) {
                                         if (line.due())
                                           line.show(fmt::format("calibrating, {} of {} steps", done, all));
                                       }});
  line.clear();
  Json json{{"ranges", ranges_json(calibration)},
            {"equalized_pairs", calibration.equalized_pairs},
            {"size", trained.size}};
  std::string text = ranges_text(calibration);
  if (measures) {
    const Sensitivity sensitivity =
        keep_sensitive_layers(calibration, options.max_loss, inputs,
                              [&](const Quantization& part) { return (*ap)(calibration, part); });
    ap->clear();
    json["layers"] = sensitivity_json(sensitivity);
    json["AP_fp32"] = sensitivity.AP_float;
    json["AP_int8"] = sensitivity.AP_quantized;
    json["images_per_s_fp32"] = sensitivity.images_per_s_float;
    json["images_per_s_int8"] = sensitivity.images_per_s_quantized;
    text += sensitivity_text(sensitivity);
  }
  return {Weights(std::make_shared<const TrainedModel>(std::move(calibration.quantized))),
          {text, to_text(json)}};
}

QuantizedWeights quantize(const Weights& weights, const QuantizationOptions& options, int height, int width) {
  if (height < 0 || width < 0 || (height == 0) != (width == 0))
    throw InputError("height and width must both be above 0, or both be 0 for those of the weights",
                     "quantize()");
  if (height == 0) return quantize(weights, options);
  auto sized = std::make_shared<TrainedModel>(weights.trained());
  sized->size = InputSize(height, width);
  return quantize(Weights(std::move(sized)), options);
}

}  // namespace brightnet
