// What a trainer saves, and how it goes on from there.
#include <algorithm>

#include "core/clock.h"
#include "core/log.h"
#include "core/threads.h"
#include "train/loop/trainer.h"

namespace brightnet {

std::vector<StateArray> Trainer::state_arrays() const {
  std::vector<StateArray> arrays{{"values", values_.floats(), layout_.floats()}};
  optimizer_step_->append_state(arrays);
  return arrays;
}

/// The sums that are saved are those of all ranks.
void Trainer::save() {
  if (!leads()) return;
  const double begin = seconds_now();
  take_over(optimizer_step_->state());
  Progress progress = progress_;
  progress.sums = all_sums_;
  progress.state.sums = all_losses_;
  save_averaged_weights(setup_.folder.last());
  save_state(setup_.folder.state(),
             {progress, describe_layout(layout_), compute_threads(), best_metrics_, train_data_, val_data_},
             state_arrays(), backend_);
  saved_at_ = seconds_now();
  saving_seconds_ = saved_at_ - begin;
}

void Trainer::save_averaged_weights(const std::filesystem::path& file) const {
  std::vector<float> host(layout_.floats());
  backend_.download(host.data(), averaged_.values, host.size() * sizeof(float));
  TrainedModel trained{setup_.model,
                       setup_.train.classes,
                       setup_.config.evaluation_size(),
                       setup_.config.augment.letterbox,
                       {}};
  trained.training = {{"run", setup_.config.name},
                      {"epoch", std::to_string(progress_.epoch)},
                      {"iteration", std::to_string(progress_.iteration)}};
  if (last_metrics_ && last_metrics_->AP != no_truths) {
    trained.training["AP"] = std::to_string(last_metrics_->AP);
    trained.training["AP50"] = std::to_string(last_metrics_->AP50);
  }
  save_weights(file, trained, layout_, host);
}

void Trainer::resume() {
  const RunState state =
      load_state(setup_.folder.state(), state_arrays(), describe_layout(layout_), backend_);
  progress_ = state.progress;
  best_metrics_ = state.best;
  all_sums_ = progress_.sums;
  all_losses_ = progress_.state.sums;
  if (!leads()) {  // rank 0 goes on with what all had done
    progress_.sums.images = 0;
    progress_.state.sums = {};
  }
  optimizer_step_->resume(progress_.state);
  if (progress_.step > 0) step_seconds_ = all_sums_.seconds / static_cast<double>(progress_.step);
  // Fewer images than before make an epoch that is over by now.
  progress_.step = std::min(progress_.step, static_cast<uint64_t>(steps_per_epoch_));
  const TrainOptions& train = setup_.config.train;
  if (progress_.planned > 0) {
    plan_length(progress_.planned);
  } else if (train.iterations == 0) {
    // The same number as at the beginning, unless the data have changed: then the epochs still to come count.
    const auto step = static_cast<int64_t>(progress_.step), epoch = static_cast<int64_t>(progress_.epoch);
    plan_length(progress_.iteration - step + std::max<int64_t>(0, train.epochs - epoch) * steps_per_epoch_);
  }
  resumed_ = true;
  ++trained_.version;
  if (leads()) compare_data(state);
  if (leads() && state.threads != compute_threads()) {
    spdlog::warn(
        "This run computed with {} threads and now has {}: sums round differently, so its weights will not "
        "be bit-identical to those of an uninterrupted run. OMP_NUM_THREADS={} restores that.",
        state.threads, compute_threads(), state.threads);
  }
}

void Trainer::compare_data(const RunState& state) const {
  const auto compare = [](const char* split, const std::optional<SplitFingerprint>& before,
                          const SplitFingerprint& now, const char* consequence) {
    const std::string change = before ? describe_change(*before, now) : "";
    if (!change.empty())
      spdlog::warn("The {} split is not what it was when this run's state was saved: {}. {}", split, change,
                   consequence);
  };
  compare(
      "training", state.train, train_data_,
      "The run goes on with what there is now; if that is not meant, put the data back and resume again.");
  compare("validation", state.val, val_data_, "Scores from now on do not compare with the earlier ones.");
}

}  // namespace brightnet
