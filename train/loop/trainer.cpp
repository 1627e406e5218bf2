#include "train/loop/trainer.h"

#include <algorithm>

#include "core/log.h"

namespace brightnet {

Trainer::Trainer(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial)
    : setup_(setup),
      layout_(layout),
      length_(setup.config.train, static_cast<int64_t>(setup.train.images.size())),
      schedule_(setup.config.schedule, setup.config.optimizer.rate, length_.steps_per_epoch(),
                length_.steps()),
      train_data_(fingerprint(setup.train)),
      val_data_(fingerprint(setup.val)),
      step_(setup_, layout, initial),
      validation_(setup.config, setup.model, setup.val, setup.communicator,
                  [this](int64_t done, int64_t images) {
                    if (!observers_.none())
                      observers_.tell(&TrainingObserver::images_evaluated, {status(), done, images});
                  }),
      pace_(setup.now),
      growing_(setup.config),
      time_plan_(setup.config, evaluated_images(setup.val, setup.config.data.tiles), pace_),
      ranks_(setup.communicator),
      kept_(setup_.folder, setup.files, layout.floats()),
      observers_(setup.observers) {}

// After an error of this rank the others do not come to the sums that are queued, and the device's memory cannot be
// freed before these are done: they are given up here, before anything is destroyed.
TrainingEnd Trainer::run(const std::stop_token& stop) {
  try {
    return train(stop);
  } catch (...) {
    setup_.collectives.abandon();
    throw;
  }
}

TrainingEnd Trainer::train(const std::stop_token& stop) {
  open();
  while (!over()) {
    // A run that was stopped after the last step of an epoch continues with the epoch's evaluation.
    if (!epoch_trained()) step();
    share_progress(stop);
    if (ranks_.all().stop) return save_and_stop(stop);
    if (ranks_.all().timing_due) time_evaluation(stop);
    if (!observers_.none()) observers_.tell(&TrainingObserver::step_done, {status()});
    if (!epoch_trained()) {
      if (ranks_.all().evaluation_due && !evaluate_within_epoch(stop)) return save_and_stop(stop);
      if (ranks_.all().save_due) save(stop);
    } else if (!end_epoch(stop)) {
      return save_and_stop(stop);
    }
  }
  if (!try_average(stop)) return save_and_stop(stop);
  close();
  const TrainingEnd end = length_.run_trained(progress_) ? TrainingEnd::finished : TrainingEnd::no_better;
  observers_.tell(&TrainingObserver::run_ended, {status(), end});
  return end;
}

void Trainer::open() {
  if (!over()) open_loader();
  observers_.begin({.status = status(),
                    .resumed = resumed_,
                    .best_epoch = progress_.best_epoch,
                    .device_memory = memory().peak(),
                    .state = step_.state_bytes()});
  pace_.begin_run(progress_.times);
}

void Trainer::open_loader() {
  const auto parts = static_cast<uint64_t>(step_.micro_batches());
  Loader::Setup loader;
  loader.dataset = &setup_.train;
  loader.augment = setup_.config.augment;
  loader.loader = setup_.config.loader;
  loader.batch = setup_.config.train.micro_batch;
  loader.part = {setup_.communicator.rank(), setup_.communicator.size()};
  loader.sizes = setup_.config.input_sizes();
  loader.channels = setup_.model.channels;
  loader.size_every = setup_.config.train.size_every * step_.micro_batches();
  loader.seed = setup_.config.train.seed;
  loader.end = loader_end();
  loader.steps_per_epoch = static_cast<uint64_t>(length_.steps_per_epoch()) * parts;
  loader.start_epoch = progress_.epoch;
  loader.start_step = progress_.step * parts;
  loader.buffers = {[this](size_t bytes) { return setup_.backend.allocate_host(bytes); },
                    [this](void* memory) { setup_.backend.release_host(memory); }};
  loader_ = std::make_unique<Loader>(loader);
}

bool Trainer::over() const {
  return (length_.run_trained(progress_) && progress_.step == 0) || validation_.out_of_patience(progress_);
}

void Trainer::step() {
  const EpochSums before = time_counters();
  OptimizerStep& optimizer = step_.optimizer();
  rate_ = schedule_.rate(progress_.iteration);
  optimizer.set_rate(rate_, pretrained_share());
  choose_assignment();
  for (int part = 0; part < step_.micro_batches(); ++part) step_.pass(next_batch(part), part);
  step_.update();
  ++progress_.iteration;
  ++progress_.step;
  // A copy made before the epoch's sums were cleared counts no further step.
  const StepState* const seen = optimizer.observe();
  if (seen && seen->applied + seen->skipped > progress_.state.applied + progress_.state.skipped)
    adopt_state(*seen);
  const EpochSums took = time_counters() - before;
  ranks_.add(took);
  pace_.step_done(took.seconds, work(progress_.iteration - 1, progress_.iteration));
}

/// Of the next step: static in the first part of the run. Its losses are not comparable with those that follow.
void Trainer::choose_assignment() {
  const float part = setup_.config.train.static_assignment.value_or(0);
  const bool is_static = progress_.iteration < length_.last_part(1 - part, progress_.plans);
  if (static_assignment_ && !is_static && leads()) {
    log::info("After {} of {} steps simota takes the best of its candidates, no longer all of them.",
              progress_.iteration, length_.steps());
  }
  static_assignment_ = is_static;
  step_.assign_statically(is_static);
}

/// Of the learning rate that pretrained layers have in the next step. New layers, whose first gradients are no better
/// than chance, would spoil what the others have learned.
float Trainer::pretrained_share() const {
  const float part = setup_.config.train.pretrained_warmup;
  if (part == 0) return 1;
  const auto length = static_cast<float>(std::max<int64_t>(1, length_.last_part(1 - part, progress_.plans)));
  return std::min(1.0f, static_cast<float>(progress_.iteration + 1) / length);
}

/// Of the steps [from, to), in steps of the largest input.
double Trainer::work(int64_t from, int64_t to) const {
  return growing_.work(from, to, growing_.boundaries(length_, progress_.plans));
}

const Batch& Trainer::next_batch(int part) {
  setup_.backend.finish_uploads();  // the loader reuses the last batch's pixels
  const Batch* batch = loader_->next();
  BRIGHTNET_CHECK(batch, "the loader ended before the run");
  observers_.tell(&TrainingObserver::batch_loaded,
                  {*batch, progress_.iteration * step_.micro_batches() + part});
  ranks_.add({.images = static_cast<double>(batch->count)});
  return *batch;
}

/// Running totals; a step's times are the differences between two readings.
EpochSums Trainer::time_counters() const {
  return {.images = 0,
          .seconds = pace_.now(),
          .waited = loader_->waited_seconds(),
          .comm_waited = setup_.collectives.waited_seconds(),
          .busy = step_.busy_seconds()};
}

/// `seen` may be a step behind the device; it is ignored when it is older than the known state.
void Trainer::adopt_state(const StepState& seen) {
  const StepState before = progress_.state;
  const int64_t step = seen.applied + seen.skipped;
  if (step < before.applied + before.skipped) return;
  progress_.state = seen;
  if (seen.skipped == before.skipped || !leads()) return;
  if (step_.optimizer().scales_loss()) {
    log::warn(
        "The gradient of step {} overflowed under a loss scale of {:g}: the step is skipped and the scale is "
        "now {:g}. An occasional overflow is normal: this is how the scale is found.",
        step, before.loss_scale, seen.loss_scale);
  } else {
    log::warn("The gradient of step {} is not finite: the step is skipped.", step);
  }
}

RankReport Trainer::own_report(const std::stop_token& stop) const {
  return {.losses = progress_.state.sums,
          .stop = stop.stop_requested(),
          .save_due = leads() && pace_.save_due(setup_.config.train.save_every)};
}

void Trainer::share_progress(const std::stop_token& stop) {
  RankReport own = own_report(stop);
  if (leads()) {
    own.planned = time_plan_.revise(progress_, length_).value_or(0);
    own.timing_due = time_plan_.timing_due();
    own.evaluation_due = time_plan_.evaluation_due_within_epoch(progress_, length_);
  }
  if (const int64_t steps = ranks_.share(own).planned; steps > 0) adopt_plan(steps);
}

/// Afterwards all ranks know the results of everything queued so far.
void Trainer::synchronize(const std::stop_token& stop) {
  adopt_state(step_.optimizer().state());
  ranks_.share(own_report(stop));
}

bool Trainer::evaluate_within_epoch(const std::stop_token& stop) {
  const double began = pace_.now();
  synchronize(stop);
  const auto metrics = validation_.run(step_.averaged_network(), stop);
  if (!metrics) return false;
  observers_.tell(&TrainingObserver::evaluated, {status(), *metrics, true});
  keep_if_best(*metrics);
  pace_.pause_done(began, true);
  return true;
}

bool Trainer::end_epoch(const std::stop_token& stop) {
  const double began = pace_.now();
  synchronize(stop);
  std::optional<Metrics> metrics;
  if (evaluation_due()) {
    metrics = validation_.run(step_.averaged_network(), stop);
    if (!metrics) return false;
  }
  ++progress_.epoch;
  progress_.step = 0;
  if (metrics) observers_.tell(&TrainingObserver::evaluated, {status(), *metrics, false});
  observers_.tell(&TrainingObserver::epoch_ended, {status(), metrics ? &*metrics : nullptr});
  if (metrics) keep_if_best(*metrics);
  begin_epoch();
  if (pace_.seconds_since_save() >= setup_.config.train.save_every) write_state();
  pace_.pause_done(began, metrics.has_value());
  fit_into_minutes(metrics.has_value());
  return true;
}

/// With an evaluation interval of its own, a run needs no clock for this, and its ranks no message.
bool Trainer::evaluation_due() {
  const bool last = length_.run_trained(progress_);
  if (last || evaluation_interval(setup_.config.evaluate))
    return validation_.due(static_cast<int64_t>(progress_.epoch) + 1, last);
  return ranks_.of_rank_0(time_plan_.evaluation_due(progress_, length_));
}

void Trainer::keep_if_best(const Metrics& metrics) {
  const bool best = validation_.record_score(metrics, progress_);
  if (!leads()) return;
  if (!progress_.kept.empty() && progress_.kept.back().iteration == progress_.iteration)
    kept_.add(progress_.iteration, step_.averaged_parameters(), progress_.kept);
  if (!best) return;
  write_averaged_weights(setup_.folder.best());
  observers_.tell(&TrainingObserver::best_found,
                  {status(), metrics, validation_.worst(), progress_.best_epoch});
}

/// Resets the epoch's sums and losses.
void Trainer::begin_epoch() {
  step_.optimizer().clear_sums();
  ranks_.begin_epoch();
  progress_.state.sums = {};
}

void Trainer::close() {
  write_state();
}

}  // namespace brightnet
