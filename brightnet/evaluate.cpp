#include "brightnet/evaluate.h"

#include "brightnet/scores.h"
#include "core/error.h"
#include "core/log.h"
#include "kernels/device/device.h"
#include "train/distributed/solo.h"
#include "train/setup/data_sets.h"
#include "train/setup/named_run.h"
#include "train/setup/preparation.h"
#include "train/setup/weights_evaluation.h"

namespace brightnet {

Scores scores_of(const Metrics& metrics) {
  Scores scores{.AP = metrics.AP,
                .AP50 = metrics.AP50,
                .AP75 = metrics.AP75,
                .APs = metrics.APs,
                .APm = metrics.APm,
                .APl = metrics.APl,
                .AR = metrics.AR,
                .confidence = metrics.best.score,
                .precision = metrics.best.precision,
                .recall = metrics.best.recall,
                .images = metrics.images,
                .truths = metrics.truths,
                .detections = metrics.detections};
  if (metrics.loss) scores.loss = metrics.loss->total();
  for (const ClassMetrics& one : metrics.per_class)
    scores.per_class.push_back({one.name, one.AP, one.AP50, one.truths});
  return scores;
}

namespace {

Scores measure(const Weights& weights, const std::string& data, const EvaluationOptions& options,
               bool warns) {
  if (options.batch < 1) throw InputError("the batch must be at least 1", "EvaluationOptions::batch");
  if (options.height < 0 || options.width < 0 || (options.height == 0) != (options.width == 0)) {
    throw InputError("height and width must both be above 0, or both be 0 for those of the weights",
                     "EvaluationOptions::height");
  }
  Configuration configuration = configuration_at(data, options.settings);
  if (options.device.precision != "auto") configuration.precision = options.device.precision;
  const WeightsReportOptions report{.run = configuration,
                                    .weights = {.weights = "the weights"},  // as messages call them
                                    .split = options.split,
                                    .batch = options.batch,
                                    .height = options.height,
                                    .width = options.width};
  SoloCommunicator alone;
  const cuda::KeptGpu kept(options.device.device != "cpu");
  const RankDevice device = common_device(alone, [&] { return options.device.device; });
  WeightsEvaluation evaluation(
      report, [&](const auto&) { return weights.trained(); }, device, alone);
  const auto& training = weights.training();
  if (const auto tiles = training.find("tiles");
      warns && tiles != training.end() && !evaluation.config().data.tiles) {
    const std::string& text = tiles->second;  // "640,0.2"
    const size_t comma = text.find(',');
    log::warn(
        "These weights were trained on tiles of larger pictures, and whole pictures are evaluated: the setting "
        "data.tiles={{size: {}{}}} evaluates in such tiles.",
        text.substr(0, comma), comma == std::string::npos ? "" : ", overlap: " + text.substr(comma + 1));
  }
  const int64_t images = std::ssize(evaluation.dataset().images);
  int64_t done = 0;
  const auto metrics = evaluation.run(
      [&](int, std::span<const ScoredBox>) { return !options.progress || options.progress(++done, images); },
      alone);
  if (!metrics) throw InputError("the evaluation was stopped");
  return scores_of(*metrics);
}

}  // namespace

Scores measure(const Weights& weights, const std::string& data, const EvaluationOptions& options) {
  return measure(weights, data, options, false);
}

Scores evaluate(const Weights& weights, const std::string& data, const EvaluationOptions& options) {
  return measure(weights, data, options, true);
}

}  // namespace brightnet
