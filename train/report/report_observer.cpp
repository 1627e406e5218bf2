#include "train/report/report_observer.h"

#include "core/error.h"
#include "train/report/description.h"

namespace brightnet {
namespace {

/// An evaluation within an epoch has a row of its own.
EpochSummary summary_of(const TrainingStatus& status, const Metrics* metrics, bool whole) {
  return {.epoch = status.epochs_done,
          .iteration = status.iteration,
          .input_height = status.evaluation_size.height,
          .sums = status.sums,
          .losses = status.losses,
          .rate = status.rate,
          .loss_scale = status.loss_scale,
          .metrics = metrics,
          .whole = whole};
}

}  // namespace

ReportObserver::ReportObserver(const TrainingSetup& setup, const ParameterLayout& layout,
                               std::vector<std::vector<std::string>> choices)
    : setup_(setup), layout_(layout), choices_(std::move(choices)) {}

void ReportObserver::run_began(const RunBegan& event) {
  const TrainingStatus& status = event.status;
  RunDescription run = describe_run(setup_, layout_, event.device_memory);
  run.choices = choices_;
  constexpr double settling_steps = 150;
  run.settling_epochs = settling_steps / static_cast<double>(status.steps_per_epoch);
  // What was written of the last step so far stays: its row comes before the state that the run resumes from.
  const int64_t first_step = status.iteration + 1;
  report_.emplace(setup_.folder, setup_.files, best_effort_, std::move(run),
                  event.resumed ? status.epochs_done : -1, event.best_epoch, first_step, event.best);
  report_->add_configuration(print_config(setup_.config), first_step);
  report_->add_labels(setup_.train);
  point_losses_ = status.losses;
  point_sums_ = status.sums;
}

void ReportObserver::batch_loaded(const BatchLoaded& event) {
  report_->add_batch(event.batch, event.number);
}

/// A point of the training's curves every train.log_every seconds: the means since the last one.
void ReportObserver::step_done(const StepDone& event) {
  const TrainingStatus& status = event.status;
  if (status.step == 0 || setup_.now() - point_at_ < setup_.config.train.log_every) return;
  point_at_ = setup_.now();
  LossTotals losses = status.losses;
  add_totals(losses, point_losses_, -1);
  report_->add_point({status.iteration, status.sums - point_sums_, losses, status.rate});
  point_losses_ = status.losses;
  point_sums_ = status.sums;
}

void ReportObserver::evaluated(const Evaluated& event) {
  if (event.within_epoch) report_->add_epoch(summary_of(event.status, &event.metrics, false));
}

void ReportObserver::epoch_ended(const EpochEnded& event) {
  report_->add_epoch(summary_of(event.status, event.metrics, true));
  point_losses_ = {};
  point_sums_ = {};
}

void ReportObserver::best_found(const BestFound& event) {
  report_->add_best(event.metrics, setup_.val, event.epoch, event.status.iteration);
}

void ReportObserver::run_ended(const RunEnded& event) {
  if (event.end == TrainingEnd::interrupted) {
    report_->plot();
  } else {
    report_->finish();
  }
}

/// An error in a run's first seconds would leave its epochs without a report.
void ReportObserver::run_failed(const RunFailed&) {
  if (!report_) return;
  try {
    if (setup_.files.guard) setup_.files.guard();
  } catch (const Error&) {  // the folder is another run's now, which may be the error itself
    return;
  }
  report_->plot_rest();
}

void ReportObserver::add_closing_words(const std::vector<std::string>& sentences) {
  if (report_) report_->finish(sentences);
}

}  // namespace brightnet
