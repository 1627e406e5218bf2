#include "train/setup/quantized_start.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/log.h"
#include "core/progress_line.h"
#include "detect/quantization/calibrate.h"
#include "detect/quantization/fold.h"
#include "formats/darknet/weights.h"
#include "train/run/checkpoint.h"

namespace brightnet {
namespace {

constexpr int calibration_images = 128;

/// Takes the scales from the state of the run that is resumed.
TrainedModel with_saved_scales(TrainedModel trained, const RunFolder& folder) {
  trained = without_batch_norm(trained, *make_cpu_backend());
  trained.model.quantization = read_state(folder.state()).quantization;
  const std::string refusal =
      trained.model.quantization.empty() ? "it has none" : quantization_refusal(trained.model);
  if (refusal.empty()) return trained;
  throw InputError("its scales of 8 bits do not fit the run's model: " + refusal, folder.state().string(),
                   "Put back the state that the run saved, or " + folder.new_run() + " instead.");
}

}  // namespace

void refuse_unquantizable(const RunConfig& config) {
  if (!config.train.quantize) return;
  const std::string& weights = config.train.weights;
  if (weights.empty()) {
    throw InputError("train.quantize fine-tunes a network that is trained already, and there are no weights",
                     config.where("train.quantize"), "Name them: --weights RUN/weights/best.safetensors.");
  }
  if (const Auto<Precision>& precision = config.train.precision;
      precision.has_value() && compute_type(precision) != DType::f32) {
    throw InputError("train.quantize rounds to 8 bits in fp32, which " +
                         std::string(enum_name(precision.value())) + " would round again",
                     config.where("train.precision"), "Leave train.precision out, or set it to fp32.");
  }
  if (is_darknet_weights(weights)) return;
  if (const auto described = describe_weights(weights); described && !described->model.quantization.empty()) {
    throw InputError("these weights are quantised already", weights,
                     "Fine-tune those that they were made from: train.quantize calibrates them itself.");
  }
}

void begin_quantized(Preparation& run, bool speaks) {
  const TrainOptions& train = run.config.train;
  TrainedModel start;
  start.model = run.model;
  start.classes = run.training.classes;
  start.size = train.size;
  start.letterbox = run.config.augment.letterbox;
  start.layout = ParameterLayout(run.model);
  start.values = std::move(run.initial);
  if (run.old) {
    start = with_saved_scales(std::move(start), run.old->folder);
  } else {
    if (!train.fresh.empty()) {
      throw InputError(
          fmt::format("train.quantize fine-tunes a network that is trained already, and these weights lack "
                      "layers of the model: {}",
                      fmt::join(train.fresh, ", ")),
          train.weights, "Train it without train.quantize first.");
    }
    const CalibrationInputs inputs(run.training, calibration_images, start.fit(),
                                   std::max(1, run.config.loader.threads()));
    if (speaks)
      log::info("Calibrating on {} of {} training images", inputs.count(), run.training.images.size());
    ProgressLine line(10);
    const auto progress = [&](int done, int all) {
      if (speaks && line.due()) line.show(fmt::format("calibrating, {} of {} steps", done, all));
    };
    start = calibrate(start, inputs, {.progress = progress}).quantized;
    line.clear();
  }
  run.model = std::move(start.model);
  run.initial = std::move(start.values);
}

}  // namespace brightnet
