#include "train/report/training_images.h"

#include <algorithm>

#include "core/log.h"
#include "train/run/best_effort.h"

namespace brightnet {
namespace {

/// How many training images can be evaluated in 2 % of the time that the run has taken, and within its limit;
/// at most as many as validation has. 0: too few to say anything.
int64_t affordable_images(const Trainer& trainer, const TrainingSetup& setup, const Dataset& pictures) {
  constexpr double part_of_run = 0.02, part_of_rest = 0.5;
  constexpr int64_t least = 10;
  const TileOptions& tiles = setup.config.data.tiles;
  const auto val = static_cast<int64_t>(setup.val.images.size());
  const auto all = static_cast<int64_t>(pictures.images.size());
  double seconds = part_of_run * trainer.pace().times().used;
  if (const auto left = trainer.seconds_left()) seconds = std::min(seconds, part_of_rest * *left);
  const double per_input = trainer.pace().evaluation_seconds() / evaluated_images(setup.val, tiles);
  const double inputs_each = evaluated_images(pictures, tiles) / static_cast<double>(all);
  const double per_image = per_input * inputs_each;
  if (per_image <= 0 || seconds <= 0) return 0;
  const double fitting = std::min(1e9, seconds / per_image);
  const int64_t count = std::min({static_cast<int64_t>(fitting), val, all});
  return count < least ? 0 : count;
}

std::optional<TrainingImages> measure(Trainer& trainer, const TrainingSetup& setup,
                                      const std::stop_token& stop) {
  const Dataset& pictures = setup.training_pictures();
  const std::optional<Metrics>& validation = trainer.last_metrics();
  if (!validation || setup.val.images.empty()) return std::nullopt;
  int64_t count = setup.communicator.leads() ? affordable_images(trainer, setup, pictures) : 0;
  broadcast_value(setup.communicator, count);  // clocks differ
  if (count == 0) return std::nullopt;
  const auto metrics = trainer.evaluate(evenly_spread(pictures, count), stop);
  if (!metrics || metrics->AP == no_truths || validation->AP == no_truths) return std::nullopt;
  log::info(
      "The last weights score AP50 {:.3f} AP {:.3f} on {} training images (without augmentation), and AP50 {:.3f} AP "
      "{:.3f} on the validation images.",
      metrics->AP50, metrics->AP, count, validation->AP50, validation->AP);
  return TrainingImages{*metrics, *validation};
}

}  // namespace

std::optional<TrainingImages> measure_training_images(Trainer& trainer, const TrainingSetup& setup,
                                                      const std::stop_token& stop) {
  std::optional<TrainingImages> images;
  BestEffort().attempt_together(setup.communicator, "The measurement on training images",
                                [&] { images = measure(trainer, setup, stop); });
  return images;
}

}  // namespace brightnet
