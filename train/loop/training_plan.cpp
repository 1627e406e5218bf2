#include "train/loop/training_plan.h"

#include <algorithm>
#include <cmath>

#include "core/log.h"
#include "train/loop/validation.h"

namespace brightnet {
namespace {

/// "58", or "0.4" of less than ten.
std::string rounded(double epochs) {
  return epochs < 9.5 ? fmt::format("{:.2g}", epochs) : fmt::format("{:.0f}", epochs);
}

/// The largest part of a run that the program gives the warm-up.
constexpr double warmup_limit = 0.1;

Schedule schedule_of(const RunConfig& config, const RunLength& length) {
  return {config.schedule, config.optimizer.rate, length.steps_per_epoch(), length.bound()};
}

void change_total(Schedule& schedule, const Plan& plan, bool limited) {
  schedule.change_total(plan.made_at, plan.steps, limited ? warmup_limit : 1);
}

}  // namespace

int64_t warmup_of_new_length(const RunConfig& run, const TrainOptions& before, Progress progress,
                             int64_t images) {
  RunLength old_length(before, images), length(run.train, images);
  const int64_t warmup = run.schedule.in_steps(run.schedule.warmup, length.steps_per_epoch());
  if (before.minutes == 0) progress.plans.clear();
  // Under a time limit the plans limit it.
  if (run.train.minutes > 0 && !progress.plans.empty()) return warmup;
  old_length.resume(before, progress);
  Schedule schedule = schedule_of(run, old_length);
  for (const Plan& plan : progress.plans) change_total(schedule, plan, progress.times.used >= 0);
  progress.plans.clear();
  length.resume(run.train, progress);
  if (!length.bounded() || length.run_trained(progress)) return warmup;
  if (progress.iteration >= schedule.warmup()) return schedule.warmup();
  const double set = before.minutes > 0 ? 0 : static_cast<double>(warmup) / old_length.bound();
  const double part = std::clamp(set, warmup_limit, 1.0) * static_cast<double>(length.bound());
  return std::min(warmup, std::max(progress.iteration, static_cast<int64_t>(part)));
}

TrainingPlan::TrainingPlan(const TrainingSetup& setup, Pace& pace)
    : config_(setup.config),
      pace_(pace),
      length_(setup.config.train, static_cast<int64_t>(setup.train.images.size())),
      schedule_(schedule_of(setup.config, length_)),
      growing_(setup.config),
      time_plan_(setup.config, evaluated_images(setup.val, setup.config.data.tiles), pace) {}

void TrainingPlan::resume(Progress& progress) {
  // The run has been given a length instead.
  if (config_.train.minutes == 0) progress.plans.clear();
  length_.resume(config_.train, progress);
  schedule_ = schedule_of(config_, length_);
  for (const Plan& plan : progress.plans) follow(plan);
  if (!progress.plans.empty()) reported_ = progress.plans.back();
}

/// Each plan is saved with the step at which it was made: a resumed run replays them, and so has the rates and samples
/// that the whole run had up to there.
void TrainingPlan::adopt(int64_t steps, Progress& progress) {
  const Plan plan{progress.iteration, steps};
  progress.plans.push_back(plan);
  follow(plan);
  report(progress);
}

void TrainingPlan::follow(const Plan& plan) {
  length_.set_steps(plan.steps);
  change_total(schedule_, plan, time_plan_.active());
}

/// The first plan, and later ones that differ by more than a fifth, at most ten times in all.
void TrainingPlan::report(const Progress& progress) {
  constexpr double difference = 0.2, between = 0.1;
  const double minutes = config_.train.minutes, used = pace_.times().used;
  const bool first = reported_.steps == 0;
  const auto changed = static_cast<double>(std::abs(length_.steps() - reported_.steps));
  if (!first && (changed <= difference * reported_.steps || used - reported_at_ < between * 60 * minutes)) {
    return;
  }
  reported_ = progress.plans.back();
  reported_at_ = used;
  const double epochs = progress.epoch + static_cast<double>(progress.step + length_.steps_left(progress)) /
                                             length_.steps_per_epoch();
  log::info("About {} epochs fit into train.minutes = {:g}{}.", rounded(epochs), minutes,
            first ? "" : " at the present speed");
}

/// New layers, whose first gradients are no better than chance, would spoil what the others have learned.
float TrainingPlan::pretrained_share(const Progress& progress) const {
  const float part = config_.train.pretrained_warmup;
  if (part == 0) return 1;
  const auto length = static_cast<float>(std::max<int64_t>(1, length_.last_part(1 - part, progress.plans)));
  return std::min(1.0f, (progress.iteration + 1) / length);
}

int TrainingPlan::input_stage(const Progress& progress) const {
  const auto steps = growing_.boundaries(length_, progress);
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [&](int64_t step) { return step < progress.iteration; }));
}

bool TrainingPlan::assigns_statically(const Progress& progress, int64_t step) const {
  const float part = config_.train.static_assignment.value_or(0);
  return !progress.static_over && step < length_.last_part(1 - part, progress.plans);
}

double TrainingPlan::work(const Progress& progress, int64_t from, int64_t to) const {
  return growing_.work(from, to, growing_.boundaries(length_, progress));
}

RunEnd TrainingPlan::loader_end(const Progress& progress, int micro_batches) const {
  // The loader counts from the first epoch, whose steps may have been more or fewer before the data changed.
  const int64_t before = progress.epoch * length_.steps_per_epoch() + progress.step - progress.iteration;
  const auto batches = [&](int64_t step) {
    return std::max<int64_t>(0, step + before) * static_cast<uint64_t>(micro_batches);
  };
  RunEnd end;
  end.batches = batches(length_.steps());
  end.plain_from = batches(length_.last_part(config_.augment.whole_images(), progress.plans));
  for (const int64_t step : growing_.boundaries(length_, progress)) end.larger_from.push_back(batches(step));
  return end;
}

bool TrainingPlan::limited(const Progress& progress) const {
  return time_plan_.active() && !length_.run_trained(progress);
}

/// Without a plan, epochs are the upper bound, which a time limit may never let the run reach.
int64_t TrainingPlan::epochs(const Progress& progress) const {
  const bool unknown = limited(progress) && !time_plan_.planned() && progress.plans.empty();
  return unknown ? 0 : length_.epochs(progress);
}

double TrainingPlan::seconds_left(const Progress& progress) const {
  const double seconds = pace_.seconds_of(work(progress, progress.iteration, length_.steps()));
  if (!limited(progress)) return seconds;
  const double limit = time_plan_.seconds_left();
  return seconds < 0 || seconds > limit || length_.steps() < length_.bound() ? limit : seconds;
}

std::string TrainingPlan::describe_rest(const Progress& progress) const {
  return fmt::format(
      "{} of now {} epochs are done. The learning rate of the rest is that of a run of this length: {:.3g} "
      "now, {:.3g} at the end{}.",
      progress.epoch, length_.epochs(progress), rate(progress.iteration), rate(length_.steps() - 1),
      progress.iteration < schedule_.warmup()
          ? fmt::format("; it rises until the warm-up ends in step {}", schedule_.warmup())
          : "");
}

}  // namespace brightnet
