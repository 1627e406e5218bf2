#include "train/setup/run_outcome.h"

#include <algorithm>
#include <cmath>

#include "train/setup/run_facts.h"

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

RunOutcome run_outcome(const Trainer& trainer, const Preparation& run, const RunFolder& folder,
                       bool stopped_early) {
  RunOutcome outcome;
  outcome.best = *trainer.best_metrics();
  outcome.stopped_early = stopped_early;
  if (!run.anchors.heads.empty() && !anchors_may_be_automatic(run))
    outcome.anchor_recall = run.anchors.recall;
  outcome.training_images = trainer.training_images();
  outcome.sizes = object_sizes(run);
  try {
    outcome.curves = read_metrics_csv(folder.metrics());
  } catch (const InputError&) {  // it could not be written, which is said where the run ends
  }
  outcome.training_objects.resize(run.training.classes.size());
  for (const ImageRecord& image : run.training.images) {
    for (const Annotation& a : image.annotations) ++outcome.training_objects[a.class_id];
  }
  return outcome;
}

}  // namespace brightnet
