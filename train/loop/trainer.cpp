#include "train/loop/trainer.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/log.h"
#include "core/threads.h"
#include "train/run/loader_advice.h"
#include "train/run/progress_text.h"

namespace brightnet {
namespace {

constexpr size_t pictured_images = 32;

int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t total_steps(const TrainOptions& train, int64_t steps_per_epoch) {
  return train.iterations > 0 ? train.iterations : train.epochs * steps_per_epoch;
}

/// Also for a rank that is alone: then it computes as several do.
StatisticsExchange* shared_statistics(const TrainingSetup& setup) {
  return setup.config.train.sync_bn ? &setup.collectives : nullptr;
}

}  // namespace

Trainer::Trainer(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial)
    : setup_(setup),
      layout_(layout),
      backend_(setup.backend),
      communicator_(setup.communicator),
      parts_(batch_of_rank(setup.config.train, setup.communicator.size()) / setup.config.train.micro_batch),
      steps_per_epoch_(divided_up(static_cast<int64_t>(setup.train.images.size()), setup.config.train.batch)),
      total_(total_steps(setup.config.train, steps_per_epoch_)),
      schedule_(setup.config.schedule, setup.config.optimizer.rate, steps_per_epoch_, total_),
      train_data_(fingerprint(setup.train)),
      val_data_(fingerprint(setup.val)),
      values_(backend_, layout.floats() * sizeof(float)),
      gradients_(backend_, layout.trainable_floats() * sizeof(float)),
      trained_{.layout = &layout, .values = values_.floats(), .gradients = gradients_.floats()},
      averaged_{.layout = &layout},
      networks_(setup.config, setup.model, backend_, setup.config.train.micro_batch, trained_, averaged_,
                shared_statistics(setup)),
      memory_(plan_run_memory(setup.config, layout, networks_.arena_bytes())),
      line_(setup.config.train.log_every) {
  const TrainOptions& train = setup.config.train;
  BRIGHTNET_CHECK(initial.size() == layout.floats(), "parameters of another model");
  BRIGHTNET_CHECK(parts_ * train.micro_batch * communicator_.size() == train.batch,
                  "the ranks' micro-batches do not make up the batch");
  backend_.upload(values_.data(), initial.data(), values_.bytes());
  // Nobody writes the padding between the parameters' gradients, and their norm runs over it.
  backend_.zero(gradients_.data(), gradients_.bytes());
  optimizer_step_ = std::make_unique<OptimizerStep>(
      setup.config.optimizer, setup.config.ema, setup.config.train.precision, layout, backend_,
      values_.floats(), batch_of_rank(train, communicator_.size()));
  averaged_.values = optimizer_step_->average();
  arena_ = DeviceBuffer(backend_, networks_.arena_bytes());
  networks_.bind(arena_.data());
  if (!communicator_.alone()) {
    GradientExchange::Options options;
    options.bucket_bytes = static_cast<size_t>(train.bucket_mb * (1 << 20));
    options.overlap = train.overlap;
    options.mean_statistics = !train.sync_bn;
    exchange_.emplace(setup_.collectives, trained_, options);
  }
  clock_ = backend_.make_work_clock();
}

TrainingEnd Trainer::run(const Interrupt& interrupt) {
  open_loader();
  open_report();
  began_at_ = saved_at_ = seconds_now();
  // A run that was interrupted behind the last step of an epoch goes on with the epoch's evaluation.
  while (!out_of_patience() && (!finished() || progress_.step > 0)) {
    if (!finished() && static_cast<int64_t>(progress_.step) < steps_per_epoch_) step();
    confer(interrupt);
    const bool epoch_done = static_cast<int64_t>(progress_.step) == steps_per_epoch_ || finished();
    if (!epoch_done && leads() && line_.due()) line_.show(describe_progress(last_metrics_));
    const bool save_now = !epoch_done && save_due_;
    if (stop_ || (epoch_done && !end_epoch(interrupt))) {
      line_.clear();
      settle(interrupt);
      save();
      return TrainingEnd::interrupted;
    }
    if (save_now) {
      settle(interrupt);
      save();
    }
  }
  line_.clear();
  save();
  if (report_) report_->finish();
  return finished() ? TrainingEnd::finished : TrainingEnd::no_better;
}

void Trainer::open_loader() {
  Loader::Setup loader;
  loader.dataset = &setup_.train;
  loader.augment = setup_.config.augment;
  loader.loader = setup_.config.loader;
  const auto parts = static_cast<uint64_t>(parts_);
  loader.batch = setup_.config.train.micro_batch;
  loader.part = {communicator_.rank(), communicator_.size()};
  loader.sizes = setup_.config.input_sizes();
  loader.size_every = setup_.config.train.size_every * parts_;
  loader.seed = setup_.config.train.seed;
  loader.epochs = static_cast<uint64_t>(epochs());
  loader.steps_per_epoch = static_cast<uint64_t>(steps_per_epoch_) * parts;
  loader.start_epoch = progress_.epoch;
  loader.start_step = progress_.step * parts;
  loader.buffers = {[this](size_t bytes) { return backend_.allocate_host(bytes); },
                    [this](void* memory) { backend_.release_host(memory); }};
  if (loader_) backend_.finish_uploads();  // out of the old one's buffers
  loader_ = std::make_unique<Loader>(loader);
}

void Trainer::open_report() {
  if (!leads()) return;
  report_ =
      std::make_unique<RunReport>(setup_.folder, setup_.train.classes,
                                  resumed_ ? static_cast<int>(progress_.epoch) : -1, progress_.iteration);
}

void Trainer::step() {
  const double begin = seconds_now(), waited_before = loader_->waited_seconds();
  const double comm_waited_before = setup_.collectives.waited_seconds(), busy_before = clock_->seconds();
  optimizer_step_->set_rate(schedule_.rate(progress_.iteration));
  for (int part = 0; part < parts_; ++part) pass(part);
  if (exchange_) exchange_->finish();
  update();
  ++trained_.version;
  ++progress_.iteration;
  ++progress_.step;
  // A copy that was made before an epoch's sums were cleared tells of no further step.
  const StepState* const seen = optimizer_step_->observe();
  if (seen && seen->applied + seen->skipped > progress_.state.applied + progress_.state.skipped)
    take_over(*seen);
  const double seconds = seconds_now() - begin;
  progress_.sums.seconds += seconds;
  progress_.sums.waited += loader_->waited_seconds() - waited_before;
  progress_.sums.comm_waited += setup_.collectives.waited_seconds() - comm_waited_before;
  progress_.sums.busy += clock_->seconds() - busy_before;
  if (progress_.epoch == 0 && static_cast<int64_t>(progress_.step) == steps_per_epoch_ / 2)
    first_half_at_ = seconds_now();
  if (progress_.epoch == 0) first_epoch_at_ = seconds_now();
  step_seconds_ = step_seconds_ > 0 ? 0.95 * step_seconds_ + 0.05 * seconds : seconds;
}

/// A micro-batch through the network and back.
void Trainer::pass(int part) {
  backend_.finish_uploads();  // the last batch's pixels go back to the loader
  const Batch* batch = loader_->next();
  BRIGHTNET_CHECK(batch, "the loader ended before the run");
  if (report_) report_->add_batch(*batch, progress_.iteration * parts_ + part);
  Network& network = networks_.training(batch->height);
  network.set_pixels_ahead(batch->pixels);
  network.set_truths(batch->truths);
  const float of_batch = 1.0f / static_cast<float>(setup_.config.train.batch);
  clock_->begin();
  if (exchange_ && part == parts_ - 1) {
    // With the last micro-batch, what becomes final is shared at once; so this pass is not one recording.
    network.forward();
    exchange_->forward_done();
    network.backward(optimizer_step_->gradient_scale(of_batch), part > 0, optimizer_step_->losses(),
                     [this](int layer) { exchange_->layer_done(layer); });
  } else {
    network.forward_backward(optimizer_step_->gradient_scale(of_batch), part > 0, optimizer_step_->losses());
  }
  clock_->end();
  progress_.sums.images += batch->count;
}

/// The optimizer step; like the passes, the second one is recorded.
void Trainer::update() {
  clock_->begin();
  if (setup_.config.train.graph && updates_ > 0 && !update_)
    update_ = backend_.record([this] { optimizer_step_->step(gradients_.floats()); });
  if (update_) {
    update_->replay();
  } else {
    optimizer_step_->step(gradients_.floats());
  }
  clock_->end();
  ++updates_;
}

/// Once a run, when an epoch shows it.
void Trainer::advise_on_loader() {
  if (advised_) return;
  const EpochSums& sums = progress_.sums;
  const std::string advice = loader_advice({.waited = sums.waited / std::max(1e-9, sums.seconds),
                                            .loader = setup_.config.loader,
                                            .processors = omp_get_num_procs(),
                                            .decoded_bytes = decoded_bytes(setup_.train)});
  if (advice.empty()) return;
  advised_ = true;
  spdlog::info("{}", advice);
}

/// What the device says of its steps, which may be a step old; or older than what is known already.
void Trainer::take_over(const StepState& seen) {
  const StepState before = progress_.state;
  const int64_t step = seen.applied + seen.skipped;
  if (step < before.applied + before.skipped) return;
  progress_.state = seen;
  if (seen.skipped == before.skipped || !leads()) return;
  line_.clear();
  if (optimizer_step_->scales_loss()) {
    spdlog::warn(
        "The gradient of step {} overflowed under a loss scale of {:g}: the step is skipped and the scale is "
        "now {:g}. Now and then that is how the scale is found.",
        step, before.loss_scale, seen.loss_scale);
  } else {
    spdlog::warn("The gradient of step {} is not finite: the step is skipped.", step);
  }
}

/// After every step the ranks tell each other their sums, whether one of them was asked to stop, and rank 0
/// whether it is time to save: an epoch of a large data set takes hours, and a power cut must not cost them.
void Trainer::confer(const Interrupt& interrupt) {
  constexpr double steps_over_saving = 50;  // a large state on a slow disk is saved less often
  const bool due =
      leads() && seconds_now() - saved_at_ >=
                     std::max<double>(setup_.config.train.save_every, steps_over_saving * saving_seconds_);
  const EpochSums& s = progress_.sums;
  const LossTotals& l = progress_.state.sums;
  const auto n = static_cast<double>(communicator_.size());
  double words[] = {l.box,          l.objectness,      l.classes,  l.iou,
                    l.assigned,     l.images,          s.images,   s.seconds / n,
                    s.waited / n,   s.comm_waited / n, s.busy / n, interrupt.requested() ? 1.0 : 0.0,
                    due ? 1.0 : 0.0};
  communicator_.all_reduce(words);
  all_losses_ = {words[0], words[1], words[2], words[3], words[4], words[5]};
  all_sums_ = {words[6], words[7], words[8], words[9], words[10]};
  stop_ = words[11] > 0;
  save_due_ = words[12] > 0;
}

/// The same behind everything that is queued.
void Trainer::settle(const Interrupt& interrupt) {
  take_over(optimizer_step_->state());
  confer(interrupt);
}

bool Trainer::evaluated_this_epoch() const {
  const int epoch = static_cast<int>(progress_.epoch) + 1;
  const auto& options = setup_.config.evaluate;
  return finished() || (epoch >= options.start && (epoch - options.start) % options.every == 0);
}

bool Trainer::end_epoch(const Interrupt& interrupt) {
  settle(interrupt);
  std::optional<Metrics> metrics;
  if (evaluated_this_epoch()) {
    const double begin = seconds_now();
    metrics = evaluate_average(interrupt);
    evaluation_seconds_ = seconds_now() - begin;
    if (!metrics) return false;
    last_metrics_ = metrics;
  }
  ++progress_.epoch;
  progress_.step = 0;
  EpochSummary summary{.epoch = static_cast<int>(progress_.epoch),
                       .iteration = progress_.iteration,
                       .sums = all_sums_,
                       .losses = all_losses_,
                       .rate = schedule_.rate(progress_.iteration - 1),
                       .loss_scale = optimizer_step_->scales_loss() ? progress_.state.loss_scale : 0,
                       .metrics = metrics ? &*metrics : nullptr};
  line_.clear();
  spdlog::info("{}", describe_progress(metrics));
  if (leads() && all_losses_.images == 0) {
    spdlog::warn(
        "Nothing was learned in epoch {}: no step had a finite gradient. Lower optimizer.rate or lengthen "
        "schedule.warmup.",
        progress_.epoch);
  }
  if (leads()) advise_on_loader();
  if (report_) report_->add_epoch(summary);
  if (metrics) judge(*metrics);
  progress_.sums = all_sums_ = {};
  optimizer_step_->clear_sums();
  progress_.state.sums = all_losses_ = {};
  if (setup_.config.train.minutes > 0 && progress_.planned == 0 && !finished()) fit_into_minutes();
  if (seconds_now() - saved_at_ >= setup_.config.train.save_every) save();
  return true;
}

/// All epochs of the run: those begun earlier, which may have had other steps when the data have changed
/// since, and those that the rest of the steps make.
int64_t Trainer::epochs() const {
  const auto done = static_cast<int64_t>(progress_.epoch), step = static_cast<int64_t>(progress_.step);
  return done + divided_up(total_ - (progress_.iteration - step), steps_per_epoch_);
}

void Trainer::plan_length(int64_t total) {
  total_ = total;
  schedule_ = Schedule(setup_.config.schedule, setup_.config.optimizer.rate, steps_per_epoch_, total_);
}

// The length is fixed once, from the pace of the first epoch's second half (the first steps also warm up),
// and saved: a schedule that followed the clock all the way could not be resumed to the same weights.
void Trainer::fit_into_minutes() {
  constexpr double reserve = 0.93;  // the pace of one epoch is not that of all
  const double left = 60.0 * setup_.config.train.minutes * reserve - (seconds_now() - began_at_);
  const auto half = static_cast<double>(steps_per_epoch_ - steps_per_epoch_ / 2);
  const double step_seconds = first_half_at_ > 0 ? (first_epoch_at_ - first_half_at_) / half : step_seconds_;
  const double epoch_seconds = step_seconds * static_cast<double>(steps_per_epoch_) +
                               evaluation_seconds_ / setup_.config.evaluate.every;
  const auto fitting = static_cast<int64_t>(std::max(0.0, left / epoch_seconds));
  progress_.planned =
      std::min(total_, progress_.iteration + std::max<int64_t>(1, fitting) * steps_per_epoch_);
  broadcast_value(communicator_, progress_.planned);  // every rank has its own clock, and rank 0's counts
  if (progress_.planned == total_) return;
  plan_length(progress_.planned);
  open_loader();
  spdlog::info("{} epochs fit into train.minutes = {:g}.", epochs(), setup_.config.train.minutes);
}

std::optional<Metrics> Trainer::evaluate_average(const Interrupt& interrupt) {
  ++averaged_.version;
  val_boxes_.assign(std::min(pictured_images, setup_.val.images.size()), {});
  const DetectionOptions options{for_model(setup_.config.evaluate.nms, setup_.model),
                                 setup_.config.augment.letterbox,
                                 std::max(1, setup_.config.loader.workers),
                                 {}};
  auto metrics = evaluate(
      networks_.evaluation(), setup_.val, options,
      [&](int index, std::span<const ScoredBox> boxes) {
        if (static_cast<size_t>(index) < pictured_images)
          val_boxes_[static_cast<size_t>(index)].assign(boxes.begin(), boxes.end());
        return !interrupt.requested();
      },
      communicator_);
  if (metrics) gather_pictured();
  return metrics;
}

/// Image i was looked at by rank i modulo their number; rank 0 draws them all.
void Trainer::gather_pictured() {
  if (communicator_.alone()) return;
  for (size_t i = 0; i < val_boxes_.size(); ++i) {
    const auto& own = val_boxes_[i];
    const auto all =
        communicator_.all_gather({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(own[0])});
    const std::string& bytes = all[i % all.size()];
    std::vector<ScoredBox> boxes(bytes.size() / sizeof(ScoredBox));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(boxes.data()));
    val_boxes_[i] = std::move(boxes);
  }
}

/// Without anything to be found in the validation split no score is better than another: then the newest
/// weights are the best.
void Trainer::judge(const Metrics& metrics) {
  const double score = setup_.config.evaluate.best_by == BestBy::AP50 ? metrics.AP50 : metrics.AP;
  if (progress_.best_epoch > 0 && score <= progress_.best_score && score != no_truths) {
    ++progress_.evaluations_since_best;
    return;
  }
  progress_.best_score = score;
  progress_.best_epoch = static_cast<int>(progress_.epoch);
  progress_.evaluations_since_best = 0;
  best_metrics_ = metrics;
  if (!leads()) return;
  save_averaged_weights(setup_.folder.best());
  report_->add_best(metrics, setup_.val, val_boxes_, progress_.iteration);
}

bool Trainer::out_of_patience() const {
  const int patience = setup_.config.train.patience;
  return patience > 0 && progress_.evaluations_since_best >= patience;
}

std::string Trainer::describe_progress(const std::optional<Metrics>& metrics) const {
  const bool inside = progress_.step > 0 && static_cast<int64_t>(progress_.step) < steps_per_epoch_;
  RunProgress run;
  run.epochs = epochs();
  run.epoch = std::min<int64_t>(run.epochs, static_cast<int64_t>(progress_.epoch) + (inside ? 1 : 0));
  run.step = inside ? static_cast<int64_t>(progress_.step) : 0;
  run.steps_per_epoch = steps_per_epoch_;
  run.sums = all_sums_;
  run.losses = all_losses_;
  const int64_t left = total_ - progress_.iteration;
  run.seconds_left = left == 0 || step_seconds_ > 0 ? step_seconds_ * static_cast<double>(left) : -1;
  run.rate = schedule_.rate(std::max<int64_t>(0, progress_.iteration - 1));
  run.loss_scale = optimizer_step_->scales_loss() ? progress_.state.loss_scale : 0;
  run.many_ranks = !communicator_.alone();
  run.device_beside_host = backend_.works_beside_host();
  run.metrics = metrics ? &*metrics : nullptr;
  return progress_text(run);
}

}  // namespace brightnet
