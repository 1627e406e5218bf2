// What a trainer reports: progress lines, a row for each epoch and evaluation, points of the curves, and how
// well the network knows the images that it was trained on.
#include <algorithm>
#include <cmath>

#include "core/log.h"
#include "train/loop/trainer.h"

namespace brightnet {
void Trainer::show_progress() {
  if (!leads()) return;
  if (line_.due()) line_.show(describe_progress(false));
  add_point();
}

void Trainer::show_evaluation(int64_t done, int64_t images) {
  if (leads() && line_.due())
    line_.show(position_text(run_progress(false)) + "  " + evaluation_text(done, images));
}

/// A point of the training's curves every train.log_every seconds: the means since the last one.
void Trainer::add_point() {
  if (pace_.now() - point_at_ < setup_.config.train.log_every) return;
  point_at_ = pace_.now();
  const LossTotals &now = all_ranks_.losses, &then = point_losses_;
  LossTotals since;
  since.box = now.box - then.box;
  since.objectness = now.objectness - then.objectness;
  since.classes = now.classes - then.classes;
  since.assigned = now.assigned - then.assigned;
  since.images = now.images - then.images;
  since.steps = now.steps - then.steps;
  since.clipped = now.clipped - then.clipped;
  since.norm = now.norm - then.norm;
  report_->add_point({progress_.iteration, all_ranks_.sums - point_sums_, since, rate_});
  point_losses_ = now;
  point_sums_ = all_ranks_.sums;
}

/// Epochs done, the current one in part: never the whole of one that has not been reported.
double Trainer::epochs_done() const {
  const auto steps = static_cast<double>(length_.steps_per_epoch());
  return static_cast<double>(progress_.epoch) +
         std::min(static_cast<double>(progress_.step), steps - 0.5) / steps;
}

void Trainer::note_scores(const Metrics& metrics) {
  scores_ = LastScores{.epoch = epochs_done(), .AP50 = metrics.AP50, .AP = metrics.AP};
  if (metrics.loss) scores_->loss = metrics.loss->total();
}

EpochSummary Trainer::summary(double epoch, const Metrics* metrics) const {
  return {.epoch = epoch,
          .iteration = progress_.iteration,
          .sums = all_ranks_.sums,
          .losses = all_ranks_.losses,
          .rate = rate_,
          .loss_scale = loss_scale(),
          .metrics = metrics,
          .whole = epoch == std::floor(epoch)};
}

void Trainer::report_epoch(const std::optional<Metrics>& metrics) {
  line_.clear();
  if (metrics) note_scores(*metrics);
  log::info("{}", describe_progress(metrics.has_value()));
  if (!leads()) return;
  if (all_ranks_.losses.images == 0) {
    log::warn(
        "Nothing was learned in epoch {}: no step had a finite gradient. Lower optimizer.rate or lengthen "
        "schedule.warmup.",
        progress_.epoch);
  }
  if (const std::string advice = loader_advisor_.after_epoch(progress_.sums); !advice.empty())
    log::info("{}", advice);
  report_->add_epoch(summary(static_cast<double>(progress_.epoch), metrics ? &*metrics : nullptr));
}

/// 0 where the loss is not scaled.
float Trainer::loss_scale() const {
  return step_.optimizer().scales_loss() ? progress_.state.loss_scale : 0;
}

RunProgress Trainer::run_progress(bool just_evaluated) const {
  const bool inside = progress_.step > 0 && !epoch_trained();
  RunProgress run;
  const bool limited = time_plan_.active() && !length_.run_trained(progress_);
  // Without a plan, epochs are the upper bound, which a time limit may never let the run reach.
  run.epochs = limited && !time_plan_.planned() && progress_.plans.empty() ? 0 : length_.epochs(progress_);
  // While an epoch is evaluated at its end, all its steps are done but it still counts as the current one.
  run.epoch = std::min<int64_t>(length_.epochs(progress_),
                                static_cast<int64_t>(progress_.epoch) + (progress_.step > 0 ? 1 : 0));
  run.step = inside ? static_cast<int64_t>(progress_.step) : 0;
  run.steps_per_epoch = length_.steps_per_epoch();
  run.iteration = progress_.iteration;
  run.iterations = setup_.config.train.iterations;
  run.sums = all_ranks_.sums;
  run.losses = all_ranks_.losses;
  run.seconds_left = pace_.seconds_of(work(progress_.iteration, length_.steps()));
  if (limited) {
    const double limit = time_plan_.seconds_left();
    if (run.seconds_left < 0 || run.seconds_left > limit || length_.steps() < length_.bound())
      run.seconds_left = limit;
  }
  run.rate = rate_;
  run.loss_scale = loss_scale();
  run.many_ranks = !setup_.communicator.alone();
  run.device_beside_host = setup_.backend.works_beside_host();
  run.scores = scores_;
  run.just_evaluated = just_evaluated;
  return run;
}

std::string Trainer::describe_progress(bool just_evaluated) const {
  return progress_text(run_progress(just_evaluated));
}

/// How many training images can be evaluated in 2 % of the time that the run has taken, and within its limit;
/// at most as many as validation has. 0: too few to say anything.
int64_t Trainer::affordable_training_images() const {
  constexpr double part_of_run = 0.02, part_of_rest = 0.5;
  constexpr int64_t least = 10;
  const TileOptions& tiles = setup_.config.data.tiles;
  const auto val = static_cast<int64_t>(setup_.val.images.size());
  const auto pictures = static_cast<int64_t>(setup_.train_pictures.images.size());
  double seconds = part_of_run * pace_.times().used;
  if (time_plan_.active()) seconds = std::min(seconds, part_of_rest * time_plan_.seconds_left());
  const double per_input =
      pace_.evaluation_seconds() / static_cast<double>(evaluated_images(setup_.val, tiles));
  const double inputs_each =
      static_cast<double>(evaluated_images(setup_.train_pictures, tiles)) / static_cast<double>(pictures);
  const double per_image = per_input * inputs_each;
  if (per_image <= 0 || seconds <= 0) return 0;
  const double fitting = std::min(1e9, seconds / per_image);
  const int64_t count = std::min({static_cast<int64_t>(fitting), val, pictures});
  return count < least ? 0 : count;
}

void Trainer::try_training_images(const std::stop_token& stop) {
  if (!validation_.last() || setup_.val.images.empty()) return;
  int64_t count = leads() ? affordable_training_images() : 0;
  broadcast_value(setup_.communicator, count);  // clocks differ
  if (count == 0) return;
  const Dataset images = some_of(setup_.train_pictures, count);
  const auto metrics = validation_.measure(step_.averaged_network(), images, stop);
  line_.clear();
  if (!metrics || metrics->AP == no_truths || validation_.last()->AP == no_truths) return;
  training_images_ = TrainingImages{*metrics, *validation_.last()};
  log::info(
      "The last weights on {} training images without augmentation: AP50 {:.3f} AP {:.3f}; on the validation "
      "images: AP50 {:.3f} AP {:.3f}.",
      count, metrics->AP50, metrics->AP, validation_.last()->AP50, validation_.last()->AP);
}

}  // namespace brightnet
