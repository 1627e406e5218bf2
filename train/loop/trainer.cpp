#include "train/loop/trainer.h"

#include <algorithm>
#include <tuple>

#include "core/log.h"
#include "train/distributed/agreement.h"

namespace brightnet {

Trainer::Trainer(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial)
    : setup_(setup),
      pace_(setup.now),
      plan_(setup_, pace_),
      step_({.config = setup.config,
             .model = setup.model,
             .layout = layout,
             .backend = setup.backend,
             .ranks = setup.communicator.size(),
             .collectives = setup.collectives},
            initial),
      validation_(setup.config, setup.model, setup.val, setup.communicator,
                  [this](int64_t done, int64_t images) {
                    if (!observers_.none())
                      observers_.tell(&TrainingObserver::images_evaluated, {status(), done, images});
                  }),
      ranks_(setup.communicator),
      checkpoints_(setup_, layout, step_, validation_),
      observers_(setup.observers),
      decoder_(device_decodes(setup.config, setup.backend)
                   ? setup.backend.make_jpeg_decoder(setup.config.loader.decoded_at_once())
                   : nullptr) {
  progress_.state = step_.optimizer().state();  // the first loss scale, until a step has been seen
}

void Trainer::resume() {
  const RunState state = checkpoints_.load();
  progress_ = state.progress;
  validation_.resume(state.best);
  ranks_.resume(progress_);
  step_.resume(progress_.state);
  if (progress_.step > 0 && ranks_.sums().seconds > 0) pace_.expect(ranks_.sums().seconds / progress_.step);
  pace_.begin_run(progress_.times);
  plan_.resume(progress_);
  if (progress_.input_stage < 0) progress_.input_stage = plan_.input_stage(progress_);
  step_.assign_statically(plan_.assigns_statically(progress_, progress_.iteration - 1));
  if (progress_.rate < 0) progress_.rate = plan_.rate(std::max<int64_t>(0, progress_.iteration - 1));
  // Averaged at the end of a run that was shorter.
  if (!over()) progress_.averaged = false;
  resumed_ = true;
  // A run that ended between the two files of its only save has its weights in the state alone.
  std::error_code ignored;
  if (leads() && !std::filesystem::exists(setup_.folder.last(), ignored)) checkpoints_.save_last(progress_);
}

// After an error of this rank the others do not come to the sums that are queued, and the device's memory cannot be
// freed before these are done: they are given up here, before anything is destroyed.
void Trainer::abandon_sums() {
  step_.drop_recordings();
  setup_.collectives.abandon();
}

TrainingEnd Trainer::run(const std::stop_token& stop) {
  try {
    return train(stop);
  } catch (...) {
    abandon_sums();
    observers_.tell(&TrainingObserver::run_failed, {});
    throw;
  }
}

TrainingEnd Trainer::train(const std::stop_token& stop) {
  begin();
  while (!over()) {
    // A run that was stopped after the last step of an epoch continues with the epoch's evaluation.
    const bool steps = !epoch_trained();
    if (steps) step();
    share_progress(stop);
    if (steps && !observers_.none()) observers_.tell(&TrainingObserver::step_done, {status()});
    if (ranks_.all().stop) return save_and_stop(stop);
    if (ranks_.all().timing_due) time_evaluation(stop);
    if (epoch_trained()) {
      if (!end_epoch(stop)) return save_and_stop(stop);
      continue;
    }
    if (ranks_.all().evaluation_due && !evaluate_within_epoch(stop)) return save_and_stop(stop);
    if (ranks_.all().save_due) {
      synchronize(stop);
      save();
    }
  }
  if (!try_average(stop)) return save_and_stop(stop);
  save(true);
  const TrainingEnd end =
      plan_.length().run_trained(progress_) ? TrainingEnd::finished : TrainingEnd::no_better;
  observers_.tell(&TrainingObserver::run_ended, {status(), end});
  return end;
}

TrainingEnd Trainer::save_and_stop(const std::stop_token& stop) {
  synchronize(stop);
  save(true);
  observers_.tell(&TrainingObserver::run_ended, {status(), TrainingEnd::interrupted});
  return TrainingEnd::interrupted;
}

bool Trainer::over() const {
  return plan_.length().run_ended(progress_) ||
         (plan_.growing().full(progress_) && validation_.out_of_patience(progress_));
}

void Trainer::begin() {
  if (!over()) loader_ = std::make_unique<Loader>(loader_setup());
  observers_.begin({.status = status(),
                    .resumed = resumed_,
                    .best_epoch = progress_.best_epoch,
                    .best = validation_.best() ? &*validation_.best() : nullptr,
                    .device_memory = memory().peak(),
                    .state = step_.state_bytes()});
  pace_.begin_run(progress_.times);
}

Loader::Setup Trainer::loader_setup() const {
  const auto parts = static_cast<uint64_t>(step_.micro_batches());
  Loader::Setup loader;
  loader.dataset = &setup_.train;
  loader.augment = setup_.config.augment;
  loader.loader = setup_.config.loader;
  loader.batch = setup_.config.train.micro_batch;
  loader.part = {setup_.communicator.rank(), setup_.communicator.size()};
  loader.sizes = setup_.config.input_sizes();
  loader.channels = setup_.model.channels;
  loader.size_every = int64_t{setup_.config.train.size_every} * step_.micro_batches();
  loader.seed = setup_.config.train.seed;
  loader.end = plan_.loader_end(progress_, step_.micro_batches());
  loader.steps_per_epoch = plan_.length().steps_per_epoch() * parts;
  loader.start_epoch = progress_.epoch;
  loader.start_step = progress_.step * parts;
  loader.pictures = device_paints(setup_.config, setup_.backend);
  loader.decoder = decoder_.get();
  loader.buffers = {[this](size_t bytes) { return setup_.backend.allocate_host(bytes); },
                    [this](void* memory) { setup_.backend.release_host(memory); }};
  return loader;
}

/// One optimizer step on a batch, of which every rank processes its part.
void Trainer::step() {
  const EpochSums before = time_counters();
  OptimizerStep& optimizer = step_.optimizer();
  progress_.rate = plan_.rate(progress_.iteration);
  optimizer.set_rate(progress_.rate, plan_.pretrained_share(progress_));
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
  pace_.step_done(took.seconds, plan_.work(progress_, progress_.iteration - 1, progress_.iteration));
}

/// Chooses the next step's assignment: static in the first part of the run, whose losses are not comparable with later ones.
void Trainer::choose_assignment() {
  const bool is_static = plan_.assigns_statically(progress_, progress_.iteration);
  if (static_assignment_ && !is_static && leads()) {
    log::info(
        "From step {} of {} on, the loss assigns fewer and better predictions to each object (train.static_assignment has "
        "ended): it jumps here, and is not comparable with the loss before.",
        progress_.iteration + 1, plan_.length().steps());
  }
  static_assignment_ = is_static;
  progress_.static_over |= !is_static;
  step_.assign_statically(is_static);
}

/// The input has grown, and evaluations with it: the scores so far were those of a smaller one.
void Trainer::enter_stage(int stage) {
  if (stage <= progress_.input_stage) return;
  progress_.input_stage = stage;
  validation_.begin_anew(progress_);
  if (!leads()) return;
  log::info("From step {} on, the input of training and evaluation is {}: earlier scores are not comparable.",
            progress_.iteration + 1, plan_.growing().evaluation_size(progress_).described());
}

const Batch& Trainer::next_batch(int part) {
  setup_.backend.finish_uploads();  // the loader reuses the last batch's pixels
  const Batch* batch = loader_->next();
  BRIGHTNET_CHECK(batch, "the loader ended before the run");
  enter_stage(plan_.growing().stage_of({batch->height, batch->width}));
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
  if (!leads()) return;
  const bool scales = step_.optimizer().scales_loss();
  if (scales && before.applied == 0) {
    // fp16 begins with a scale that is too large, and comes down to the largest that fits.
    if (seen.applied > 0 && seen.skipped > 0) {
      log::info("The loss scale was found in {} steps that changed nothing: {:g}.", seen.skipped,
                seen.loss_scale);
    }
    return;
  }
  if (seen.skipped == before.skipped) return;
  if (scales) {
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

/// Exchanges progress, requests (to stop, to save, to evaluate) and a new plan of the run's length.
void Trainer::share_progress(const std::stop_token& stop) {
  RankReport own = own_report(stop);
  if (leads()) {
    own.planned = plan_.revised(progress_);
    own.timing_due = plan_.time().timing_due();
    own.evaluation_due = plan_.time().evaluation_due_within_epoch(progress_, plan_.length());
  }
  if (const int64_t steps = ranks_.share(own).planned; steps > 0) adopt_plan(steps);
}

/// Afterwards all ranks know the results of everything queued so far.
void Trainer::synchronize(const std::stop_token& stop) {
  adopt_state(step_.optimizer().state());
  ranks_.share(own_report(stop));
}

void Trainer::adopt_plan(int64_t steps) {
  plan_.adopt(steps, progress_);
  loader_->set_end(plan_.loader_end(progress_, step_.micro_batches()));
}

/// Called after an epoch's end, which may have taken long: after steps, share_progress() brings new plans.
void Trainer::fit_into_minutes(bool evaluated) {
  if (!plan_.time().active() || plan_.length().run_trained(progress_)) return;
  const int64_t steps = ranks_.of_rank_0(leads() ? plan_.revised(progress_, evaluated) : 0);
  if (steps > 0) adopt_plan(steps);
}

/// Learns how long an evaluation takes. Of two passes over a few images the second one is timed, after everything has
/// been used once.
void Trainer::time_evaluation(const std::stop_token& stop) {
  constexpr int64_t part = 50, least = 16;
  const auto all = static_cast<int64_t>(setup_.val.images.size());
  const int64_t count = std::min(all, std::max(least * setup_.communicator.size(), all / part));
  const Dataset images = evenly_spread(setup_.val, count);
  const double began = pace_.now();
  synchronize(stop);
  double seconds = 0;
  for (int pass = 0; pass < 2; ++pass) {
    const double pass_began = pace_.now();
    if (!validation_.measure(evaluated_network(), images, stop)) return;  // the run stops after the next step
    seconds = pace_.now() - pass_began;
  }
  const double share = count / static_cast<double>(all);
  pace_.evaluation_timed(began, seconds / share / plan_.growing().evaluation_work(progress_));
  const std::string costly = leads() ? plan_.time().describe_evaluation(all) : "";
  if (!costly.empty()) log::warn("{}", costly);
}

/// Ready for its first image: on a GPU its convolutions may have been timed for as long as many evaluations take, and that
/// is no evaluation's time.
Network& Trainer::evaluated_network() {
  Network& network = step_.averaged_network(plan_.growing().evaluation_size(progress_));
  network.prepare();
  setup_.backend.synchronize();
  return network;
}

bool Trainer::evaluate_within_epoch(const std::stop_token& stop) {
  synchronize(stop);
  Network& network = evaluated_network();
  const double began = pace_.now();
  const auto metrics = validation_.run(network, stop);
  if (!metrics) return false;
  observers_.tell(&TrainingObserver::evaluated, {status(), *metrics, true});
  const bool best = keep_if_best(*metrics);
  pace_.pause_done(began, true, plan_.growing().evaluation_work(progress_));
  if (best) save();
  return true;
}

/// Evaluates the epoch where that is due, and begins the next one. Of one within which the run ends, the part has its row.
bool Trainer::end_epoch(const std::stop_token& stop) {
  double began = pace_.now();
  synchronize(stop);
  std::optional<Metrics> metrics;
  // A run that ends while its input grows is scored at full size.
  if (plan_.length().run_trained(progress_)) enter_stage(plan_.growing().last_stage());
  if (evaluation_due()) {
    Network& network = evaluated_network();
    began = pace_.now();
    metrics = validation_.run(network, stop);
    if (!metrics) return false;
  }
  const bool whole = plan_.length().count_epoch(progress_);
  if (metrics) observers_.tell(&TrainingObserver::evaluated, {status(), *metrics, false});
  observers_.tell(&TrainingObserver::epoch_ended, {status(), metrics ? &*metrics : nullptr});
  const bool best = metrics && keep_if_best(*metrics);
  // Before the state is saved: a run that resumes behind this epoch has its snapshot.
  if (const int every = setup_.config.train.save_epochs;
      leads() && whole && every > 0 && progress_.epoch % every == 0)
    checkpoints_.save_snapshot(progress_);
  step_.optimizer().clear_sums();
  ranks_.begin_epoch();
  progress_.state.sums = {};
  // A run that dies in its first minute loses an epoch, and never what was worth a file of weights.
  if (best || progress_.epoch == 1 || pace_.seconds_since_save() >= setup_.config.train.save_every) save();
  pace_.pause_done(began, metrics.has_value(), plan_.growing().evaluation_work(progress_));
  // One of a smaller input is not the run's last evaluation: a step follows, and the one at full size.
  fit_into_minutes(metrics.has_value() && plan_.growing().full(progress_));
  return true;
}

/// With an evaluation interval of its own, a run needs no clock for this, and its ranks no message.
bool Trainer::evaluation_due() {
  const bool last = plan_.length().run_trained(progress_);
  if (last || evaluation_interval(setup_.config.evaluate)) return validation_.due(progress_.epoch + 1, last);
  return ranks_.of_rank_0(plan_.time().evaluation_due(progress_, plan_.length()));
}

/// Returns whether it is the best.
bool Trainer::keep_if_best(const Metrics& metrics) {
  const bool best = validation_.record_score(metrics, progress_);
  // A run that was made longer may have an average, which those who use its weights would take first.
  if (best && validation_.score(metrics) >= progress_.averaged_score) progress_.averaged_score = -1;
  if (!leads()) return best;
  checkpoints_.keep_set(progress_);
  if (!best) return false;
  checkpoints_.save_best(progress_);
  observers_.tell(&TrainingObserver::best_found, {status(), metrics, progress_.best_epoch});
  return true;
}

/// Saves the sums over all ranks. Of the last save, what fails is tried again before anything else is done.
void Trainer::save(bool last) {
  if (!leads()) return;
  const double begin = pace_.now();
  adopt_state(step_.optimizer().state());
  progress_.times = pace_.times();
  Progress progress = progress_;
  ranks_.complete(progress);
  checkpoints_.save(progress, last);
  if (last) setup_.files.insist();
  pace_.save_done(begin);
}

bool Trainer::average_due() const {
  return over() && !progress_.averaged &&
         evaluates_average(setup_.config.train.average, static_cast<int64_t>(progress_.kept.size()));
}

/// Evaluates the average of the best weights, and keeps it if it scores better than they do. An error, which does end
/// the run, costs nothing of the state, which is saved before; a request to stop leaves the average due.
bool Trainer::try_average(const std::stop_token& stop) {
  if (!average_due()) return true;
  save();
  const std::vector<float> own = step_.averaged_parameters();
  std::vector<float> values(own.size());
  int sets = 0;
  if (leads()) std::tie(values, sets) = checkpoints_.mean_of_sets(progress_);
  sets = ranks_.of_rank_0(sets);
  if (sets >= 2) {
    setup_.communicator.broadcast(std::as_writable_bytes(std::span(values)));
    step_.set_averaged_parameters(values);
    const auto metrics = validation_.measure(evaluated_network(), stop);
    step_.set_averaged_parameters(own);
    if (!metrics) return false;
    checkpoints_.offer_average(std::move(values), *metrics, sets, progress_);
  }
  progress_.averaged = true;
  return true;
}

std::optional<Metrics> Trainer::evaluate(const Dataset& images, const std::stop_token& stop) {
  try {
    return validation_.measure(evaluated_network(), images, stop);
  } catch (const SharedError&) {  // all ranks have left the evaluation at the same call
    throw;
  } catch (...) {
    abandon_sums();
    throw;
  }
}

std::optional<double> Trainer::seconds_left() const {
  return plan_.time().active() ? std::optional(plan_.time().seconds_left()) : std::nullopt;
}

TrainingStatus Trainer::status() const {
  const RunLength& length = plan_.length();
  TrainingStatus run;
  run.epochs = plan_.epochs(progress_);
  // While an epoch is evaluated at its end, all its steps are done but it still counts as the current one.
  run.epoch = std::min(length.epochs(progress_), progress_.epoch + (progress_.step > 0 ? 1 : 0));
  run.step = epoch_trained() ? 0 : progress_.step;
  run.steps_per_epoch = length.steps_per_epoch();
  run.epochs_done = epochs_done();
  run.iteration = progress_.iteration;
  run.iterations = setup_.config.train.iterations;
  run.sums = ranks_.sums();
  run.losses = ranks_.losses();
  run.evaluation_size = plan_.growing().evaluation_size(progress_);
  run.seconds_left = plan_.seconds_left(progress_);
  run.rate = progress_.rate;
  if (step_.optimizer().scales_loss()) run.loss_scale = progress_.state.loss_scale;
  return run;
}

/// Epochs done; an epoch that has not been reported never counts as whole.
double Trainer::epochs_done() const {
  const auto steps = static_cast<double>(plan_.length().steps_per_epoch());
  return progress_.epoch + std::min(static_cast<double>(progress_.step), steps - 0.5) / steps;
}

}  // namespace brightnet
