// Saving a trainer's state and weights, the average of its best weights, and resuming.
#include <algorithm>
#include <tuple>

#include "core/log.h"
#include "core/threads.h"
#include "train/loop/trainer.h"

namespace brightnet {
namespace {

void warn_of_changed_data(const char* split, const std::optional<SplitFingerprint>& before,
                          const SplitFingerprint& now, const char* consequence) {
  const std::string change = before ? describe_change(*before, now) : "";
  if (change.empty()) return;
  log::warn("The {} split has changed since this run's state was saved: {}. {}", split, change, consequence);
}

void warn_of_changed_threads(int before, int now) {
  if (before == now) return;
  log::warn(
      "This run computed with {} threads and now has {}: sums round differently, so its weights will not be "
      "bit-identical to those of an uninterrupted run. OMP_NUM_THREADS={} restores that.",
      before, now, before);
}

}  // namespace

void Trainer::save(const std::stop_token& stop) {
  synchronize(stop);
  write_state();
}

TrainingEnd Trainer::save_and_stop(const std::stop_token& stop) {
  save(stop);
  observers_.tell(&TrainingObserver::run_ended, {status(), TrainingEnd::interrupted});
  return TrainingEnd::interrupted;
}

/// Saves the sums over all ranks.
void Trainer::write_state() {
  if (!leads()) return;
  const double begin = pace_.now();
  adopt_state(step_.optimizer().state());
  progress_.times = pace_.times();
  Progress progress = progress_;
  ranks_.complete(progress);
  setup_.files.retry();
  write_averaged_weights(setup_.folder.last());
  const std::vector<StateArray> arrays = step_.state_arrays();
  setup_.files.write_newest(setup_.folder.state(), step_.state_bytes(), [&] {
    save_state(
        setup_.folder.state(),
        {progress, describe_layout(layout_), compute_threads(), validation_.best(), train_data_, val_data_},
        arrays, setup_.backend);
    kept_.remove_others(progress.kept);
  });
  pace_.save_done(begin);
  observers_.tell(&TrainingObserver::state_saved, {status()});
}

void Trainer::write_averaged_weights(const std::filesystem::path& file) {
  const auto& last = validation_.last();
  write_weights(file, step_.averaged_parameters(), last ? &*last : nullptr);
}

void Trainer::write_weights(const std::filesystem::path& file, std::vector<float> values,
                            const Metrics* metrics) {
  const auto trained = std::make_shared<TrainedModel>(
      TrainedModel{.model = setup_.model,
                   .classes = setup_.train.classes,
                   .size = setup_.config.evaluation_size(),
                   .letterbox = setup_.config.augment.letterbox,
                   .training = {{"run", setup_.config.name},
                                {"epoch", std::to_string(progress_.epoch)},
                                {"iteration", std::to_string(progress_.iteration)}},
                   .layout = layout_,
                   .values = std::move(values)});
  if (const TileOptions& tiles = setup_.config.data.tiles)
    trained->training["tiles"] = fmt::format("{},{:g}", tiles.size, tiles.overlap);
  if (metrics && metrics->AP != no_truths) {
    trained->training["AP"] = std::to_string(metrics->AP);
    trained->training["AP50"] = std::to_string(metrics->AP50);
  }
  setup_.files.write(file, trained->values.size() * sizeof(float),
                     [file, trained] { save_weights(file, *trained); });
}

bool Trainer::average_due() const {
  return over() && !progress_.averaged &&
         evaluates_average(setup_.config.train.average, static_cast<int64_t>(progress_.kept.size()));
}

bool Trainer::try_average(const std::stop_token& stop) {
  if (!average_due()) return true;
  write_state();
  std::vector<float> values(layout_.floats());
  int sets = 0;
  if (leads()) std::tie(values, sets) = kept_.mean(progress_.kept);
  sets = ranks_.of_rank_0(sets);
  if (sets >= 2) {
    setup_.communicator.broadcast(std::as_writable_bytes(std::span(values)));
    const std::vector<float> own = step_.averaged_parameters();
    step_.set_averaged_parameters(values);
    const auto metrics = validation_.measure(step_.averaged_network(), stop);
    step_.set_averaged_parameters(own);
    if (!metrics) return false;
    keep_average_if_better(std::move(values), *metrics, sets);
  }
  progress_.averaged = true;
  return true;
}

/// Both by one evaluation: the best score of the run is smoothed over several. A run that was made longer may
/// have an earlier average.
void Trainer::keep_average_if_better(std::vector<float> values, const Metrics& metrics, int sets) {
  const double average = validation_.score(metrics), earlier = progress_.averaged_score;
  const double best = validation_.best() ? validation_.score(*validation_.best()) : progress_.best_score;
  const std::string name(enum_name(setup_.config.evaluate.best_by));
  const std::string compared =
      fmt::format("The average of the {} best evaluations' weights scores {} {:.4f}, ", sets, name, average);
  if (average <= best || average <= earlier) {
    const bool still_better = earlier > best;
    log::info("{}no better than {} {:.4f}: it is not kept.", compared,
              still_better ? "the earlier average's" : "the best ones'", std::max(best, earlier));
    if (still_better || earlier < 0) return;
    progress_.averaged_score = -1;
    std::error_code ignored;
    if (leads()) std::filesystem::remove(setup_.folder.averaged(), ignored);
    return;
  }
  progress_.averaged_score = average;
  log::info("{}the best ones {:.4f}: it is the better one.", compared, best);
  if (leads()) write_weights(setup_.folder.averaged(), std::move(values), &metrics);
}

std::string Trainer::describe_rest() const {
  return fmt::format(
      "{} of now {} epochs are done. The learning rate of the rest is that of a run of this length: {:.3g} "
      "now, {:.3g} at the end.",
      progress_.epoch, length_.epochs(progress_), schedule_.rate(progress_.iteration),
      schedule_.rate(length_.steps() - 1));
}

void Trainer::resume() {
  const RunState state =
      load_state(setup_.folder.state(), step_.state_arrays(), describe_layout(layout_), setup_.backend);
  progress_ = state.progress;
  validation_.resume(state.best);
  ranks_.resume(progress_);
  step_.resume(progress_.state);
  if (progress_.step > 0) pace_.expect(ranks_.sums().seconds / static_cast<double>(progress_.step));
  pace_.begin_run(progress_.times);
  // Without a time limit, the run has been given a length instead.
  if (!time_plan_.active()) progress_.plans.clear();
  length_.resume(setup_.config.train, progress_);
  schedule_ = Schedule(setup_.config.schedule, setup_.config.optimizer.rate, length_.steps_per_epoch(),
                       length_.bound());
  for (const Plan& plan : progress_.plans) follow_plan(plan);
  rate_ = schedule_.rate(std::max<int64_t>(0, progress_.iteration - 1));
  if (!progress_.plans.empty()) said_ = progress_.plans.back();
  // Averaged at the end of a run that was shorter.
  if (!over()) progress_.averaged = false;
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
