#include "train/setup/outcome.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "core/log.h"
#include "train/run/best_effort.h"
#include "train/setup/automatic_facts.h"

namespace brightnet {
namespace {

/// The configuration of a resumed run lists its anchors, whether they were automatic or not.
bool anchors_may_be_automatic(const Preparation& run) {
  return run.old.has_value() || std::any_of(run.choices.begin(), run.choices.end(), [](const Choice& choice) {
           return choice.key == "head.anchors";
         });
}

ObjectSizes object_sizes(const Preparation& run) {
  ObjectSizes sizes;
  const double input = std::sqrt(static_cast<double>(run.config.train.size.value().pixels()));
  sizes.small = input * run_facts(run.config, nullptr, run.training, {}, Communicator::solo()).small_box;
  std::vector<double> sides;
  for (const ImageRecord& image : run.training.images)
    sides.push_back(std::sqrt(static_cast<double>(image.width) * image.height));
  const auto middle = sides.begin() + sides.size() / 2;
  std::nth_element(sides.begin(), middle, sides.end());
  sizes.shrunk = *middle / input;
  for (const LayerDescription& layer : run.model.layers) sizes.heads += is_head(layer);
  return sizes;
}

}  // namespace

RunOutcome run_outcome(const Preparation& run, const RunFolder& folder, const Metrics& best,
                       const RunEnding& ending) {
  RunOutcome outcome;
  outcome.best = best;
  outcome.stopped_early = ending.stopped_early;
  outcome.training_images = ending.training_images;
  if (!run.anchors.heads.empty() && !anchors_may_be_automatic(run))
    outcome.anchor_recall = run.anchors.recall;
  outcome.sizes = object_sizes(run);
  try {
    outcome.curves = read_metrics_csv(folder.metrics());
  } catch (const InputError&) {  // it could not be written, which is said where the run ends
  }
  outcome.training_objects = run.training_pictures().objects_of_classes();
  return outcome;
}

void say_closing_words(const Preparation& run, const RunFolder& folder, const std::optional<Metrics>& best,
                       const RunEnding& ending, ReportObserver& report) {
  if (!best) return;
  std::vector<std::string> sentences;
  BestEffort().attempt("The judgement of the run", [&] {
    sentences = closing_words(run_outcome(run, folder, *best, ending));
    if (!sentences.empty()) log::result("{}", fmt::join(sentences, " "));
  });
  report.add_closing_words(sentences);
}

}  // namespace brightnet
