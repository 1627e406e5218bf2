#include "train/setup/weights_evaluation.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/text.h"
#include "formats/class_channels.h"
#include "kernels/device/device.h"
#include "train/distributed/evaluation_ranks.h"
#include "train/setup/data_sets.h"
#include "train/setup/heeded_keys.h"
#include "train/setup/named_run.h"

namespace brightnet {
namespace {

/// The weights contain the model and its input, and nothing is trained.
const HeededKeys& keys_of_evaluation() {
  constexpr const char *size = "Set the size of the input with --size.",
                       *batch = "Set the batch size with --batch.";
  static const HeededKeys keys{
      .by = "an evaluation",
      .keys = {"data.", "loader.", "evaluate.nms.", "train.precision", "train.log_every"},
      .remedies = {
          {"train.size", size}, {"evaluate.size", size}, {"train.batch", batch}, {"evaluate.batch", batch}}};
  return keys;
}

}  // namespace

std::vector<std::string> evaluation_keys() {
  return keys_of_evaluation().names();
}

WeightsEvaluation::WeightsEvaluation(const WeightsReportOptions& options, const OpenWeights& open_weights,
                                     const RankDevice& device, const Communicator& ranks)
    : weights_name_(options.weights.weights.string()) {
  const NamedRun named = NamedRun::evaluated(options.run, parse_split(options.split));
  keys_of_evaluation().refuse_others(named.overrides().assignments, "--set");
  config_ = named.load();
  if (!options.tiles.empty()) config_.data.tiles = parse_tiles(options.tiles, "--tiles", config_.data.tiles);
  if (options.rect && config_.data.tiles) {
    throw InputError("tiles are all of one shape, so rectangular batches have no effect", "--rect",
                     "Leave it out.");
  }
  const bool exported = is_onnx(options.weights.weights);
  if (!exported) backend_ = open_device(device.name, config_.train.precision.value_or(device.fast.precision));
  dataset_ = read_split(config_, parse_split(options.split), ranks.leads());
  if (const std::string place = named.divided_place(); !place.empty() && ranks.leads()) {
    log::warn(
        "The data name no validation images: of all images only the {} are evaluated that a training on them {}. "
        "To evaluate all of them, name them twice as the data (--data): {}",
        dataset_.images.size(), parse_split(options.split) == Split::train ? "takes" : "sets aside",
        shell_path(place + ',' + place));
  }
  choose_automatic(config_, run_facts(config_, nullptr, dataset_, device, ranks));
  // No rank has more images than this, so a larger batch would only waste memory.
  const auto share = (std::ssize(dataset_.images) + ranks.size() - 1) / ranks.size();
  const int batch =
      config_.data.tiles ? options.batch : static_cast<int>(std::min<int64_t>(options.batch, share));
  const InputSize size(options.height, options.width);
  exported ? inference_.emplace(open_exported(options.weights, size, options.device, options.run.precision))
           : inference_.emplace(
                 open_weights(dataset_.classes), *backend_,
                 InferenceSetup{
                     .precision = config_.train.precision, .batch = batch, .size = size, .with_loss = true});
  match_classes_by_name(options.weights.weights.string(), ranks.leads());
  options_ = {.nms = for_model(config_.evaluate.nms, inference_->trained().model),
              .workers = std::max(1, config_.loader.workers.value()),
              .tiles = config_.data.tiles};
  if (options.rect) inference_->begin_rect();
  options_.rect = options.rect;
  if (options.augment) options_.views = inference_->views();
}

std::optional<Metrics> WeightsEvaluation::run(const DetectionSink& sink, Communicator& ranks) {
  const auto metrics =
      evaluate(inference_->engine(), dataset_, inference_->fit(), options_, sink, evaluation_ranks(ranks));
  // A loss may overflow in 16 bits while the detections are good.
  const bool numbers = !metrics || !metrics->loss || std::isfinite(metrics->loss->total());
  if (!numbers && !(metrics->AP50 > 0)) {
    throw InputError(
        fmt::format("what the network computes with these weights in {} is not finite (its loss is {})",
                    enum_name(config_.train.precision), metrics->loss->total()),
        weights_name_,
        "The file is damaged or its training diverged; where neither is so, try --precision fp32.");
  }
  return metrics;
}

/// Gives the data set the weights' order of classes, which are matched by name. It may lack some: a small one has no object of
/// a rare class, and where labels name the classes there is no list of them. Throws InputError when it has others.
void WeightsEvaluation::match_classes_by_name(const std::string& weights, bool speaks) {
  const auto& trained = inference_->trained().classes;
  const ClassMatch match = match_classes(trained, dataset_.classes);
  if (match.relation == ClassRelation::same) return;
  if (match.relation == ClassRelation::numbered) {
    if (speaks)
      log::info(
          "The weights number their classes and do not name them: they are taken to be, in this order, {}.",
          enumerated(dataset_.classes));
    return;
  }
  const bool all_known = std::all_of(match.source.begin(), match.source.end(), [](int i) { return i >= 0; });
  if (!all_known) {
    const std::string other_case = describe_other_case(trained, dataset_.classes);
    throw InputError(fmt::format("these weights were trained for the classes {}, and the data set has {}",
                                 enumerated(trained), enumerated(dataset_.classes)),
                     weights,
                     !other_case.empty()
                         ? other_case
                         : "Evaluate them on data with the classes they were trained for, in any order.");
  }
  if (speaks && match.relation == ClassRelation::reordered) {
    log::info("The data set lists the classes as {}, the weights as {}: they are matched by name.",
              enumerated(dataset_.classes), enumerated(trained));
  } else if (speaks) {
    std::vector<std::string> missing;
    for (size_t i = 0; i < trained.size(); ++i) {
      if (std::ranges::find(match.source, static_cast<int>(i)) == match.source.end())
        missing.push_back(trained[i]);
    }
    log::info(
        "The data set has {} of the {} classes that the weights were trained for, not {}: scores are means over "
        "those that it has.",
        dataset_.classes.size(), trained.size(), enumerated(missing));
  }
  for (ImageRecord& image : dataset_.images) {
    for (Annotation& object : image.annotations) object.class_id = match.source[object.class_id];
  }
  dataset_.classes = trained;
}

}  // namespace brightnet
