// Saving a trainer's state, and resuming from it.
#include "core/log.h"
#include "core/threads.h"
#include "train/loop/trainer.h"

namespace brightnet {
namespace {

void warn_of_changed_data(const char* split, const std::optional<SplitFingerprint>& before,
                          const SplitFingerprint& now, const char* consequence) {
  const std::string change = before ? describe_change(*before, now) : "";
  if (change.empty()) return;
  spdlog::warn("The {} split has changed since this run's state was saved: {}. {}", split, change,
               consequence);
}

void warn_of_changed_threads(int before, int now) {
  if (before == now) return;
  spdlog::warn(
      "This run computed with {} threads and now has {}: sums round differently, so its weights will not be "
      "bit-identical to those of an uninterrupted run. OMP_NUM_THREADS={} restores that.",
      before, now, before);
}

}  // namespace

void Trainer::save(const Interrupt& interrupt) {
  synchronize(interrupt);
  write_state();
}

TrainingEnd Trainer::stop(const Interrupt& interrupt) {
  line_.clear();
  save(interrupt);
  return TrainingEnd::interrupted;
}

/// Saves the sums over all ranks.
void Trainer::write_state() {
  if (!leads()) return;
  const double begin = pace_.now();
  adopt_state(step_.optimizer().state());
  progress_.times = pace_.times();
  Progress progress = progress_;
  progress.sums = all_ranks_.sums;
  progress.state.sums = all_ranks_.losses;
  write_averaged_weights(setup_.folder.last());
  save_state(
      setup_.folder.state(),
      {progress, describe_layout(layout_), compute_threads(), validation_.best(), train_data_, val_data_},
      step_.state_arrays(), setup_.backend);
  pace_.save_done(begin);
}

void Trainer::write_averaged_weights(const std::filesystem::path& file) const {
  TrainedModel trained{.model = setup_.model,
                       .classes = setup_.train.classes,
                       .size = setup_.config.evaluation_size(),
                       .letterbox = setup_.config.augment.letterbox,
                       .training = {{"run", setup_.config.name},
                                    {"epoch", std::to_string(progress_.epoch)},
                                    {"iteration", std::to_string(progress_.iteration)}},
                       .layout = layout_,
                       .values = step_.averaged_parameters()};
  if (const auto& metrics = validation_.last(); metrics && metrics->AP != no_truths) {
    trained.training["AP"] = std::to_string(metrics->AP);
    trained.training["AP50"] = std::to_string(metrics->AP50);
  }
  save_weights(file, trained);
}

void Trainer::resume() {
  const RunState state =
      load_state(setup_.folder.state(), step_.state_arrays(), describe_layout(layout_), setup_.backend);
  progress_ = state.progress;
  validation_.resume(state.best);
  all_ranks_ = {.losses = progress_.state.sums, .sums = progress_.sums};
  if (!leads()) {  // rank 0 keeps the sums of all ranks
    progress_.sums.images = 0;
    progress_.state.sums = {};
  }
  step_.resume(progress_.state);
  if (progress_.step > 0) pace_.expect(all_ranks_.sums.seconds / static_cast<double>(progress_.step));
  pace_.begin_run(progress_.times);
  length_.resume(setup_.config.train, progress_);
  schedule_ = Schedule(setup_.config.schedule, setup_.config.optimizer.rate, length_.steps_per_epoch(),
                       length_.bound());
  for (const Plan& plan : progress_.plans) follow_plan(plan);
  rate_ = schedule_.rate(std::max<int64_t>(0, progress_.iteration - 1));
  if (!progress_.plans.empty()) said_ = progress_.plans.back();
  resumed_ = true;
  if (!leads()) return;
  warn_of_changed_data(
      "training", state.train, train_data_,
      "Training continues on the current data; if unintended, restore the data and resume again.");
  warn_of_changed_data("validation", state.val, val_data_,
                       "Later scores are not comparable with the earlier ones.");
  warn_of_changed_threads(state.threads, compute_threads());
}

}  // namespace brightnet
