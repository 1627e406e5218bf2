#include "train/report/progress_observer.h"

#include "core/error.h"
#include "core/log.h"
#include "train/report/metrics_csv.h"

namespace brightnet {

ProgressObserver::ProgressObserver(const TrainingSetup& setup)
    : setup_(setup), line_(setup.config.train.log_every) {}

void ProgressObserver::run_began(const RunBegan& event) {
  if (!event.resumed) return;
  try {
    scores_ = last_scores(read_metrics_csv(setup_.folder.metrics()), event.status.epochs_done);
  } catch (const InputError&) {  // there is no table, or the report refuses it
  }
}

void ProgressObserver::step_done(const StepDone& event) {
  if (event.status.step > 0 && line_.due()) line_.show(text(event.status, false));
}

void ProgressObserver::images_evaluated(const ImagesEvaluated& event) {
  if (line_.due()) line_.show(position_text(event.status) + "  " + evaluation_text(event.done, event.images));
}

void ProgressObserver::evaluated(const Evaluated& event) {
  const Metrics& metrics = event.metrics;
  scores_ = LastScores{.epoch = event.status.epochs_done, .AP50 = metrics.AP50, .AP = metrics.AP};
  if (metrics.loss) scores_->loss = metrics.loss->total();
  if (event.within_epoch) log::info("{}", text(event.status, true));
}

void ProgressObserver::epoch_ended(const EpochEnded& event) {
  log::info("{}", text(event.status, event.metrics != nullptr));
  if (event.status.losses.images > 0) return;
  log::warn(
      "Nothing was learned in epoch {}: no step had a finite gradient. Lower optimizer.rate or lengthen "
      "schedule.warmup.",
      event.status.epoch);
}

std::string ProgressObserver::text(const TrainingStatus& status, bool just_evaluated) const {
  return progress_text(
      {status, !setup_.communicator.alone(), setup_.backend.works_beside_host(), scores_, just_evaluated});
}

}  // namespace brightnet
