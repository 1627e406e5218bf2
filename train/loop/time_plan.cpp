#include "train/loop/time_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "train/loop/kept_sets.h"

namespace brightnet {
namespace {

/// A process knows its speed after these steps, or after fewer that take this part of the time.
constexpr int64_t steps_before_planning = 20, least_steps_before_planning = 5;
constexpr double time_before_planning = 0.01;
/// Parts of the time: between plans; the difference at which a plan is worth replacing; the end of the run, in
/// which every step may replace it for the smaller difference.
constexpr double between_plans = 0.025, worth_planning = 0.01, worth_planning_at_end = 0.004, end = 0.05;

/// Evaluations take this part of the time, but there are about so many, unless they would take more than the
/// larger part. The best of very many would be a lucky one.
constexpr double evaluation_part = 0.08, largest_evaluation_part = 0.25;
constexpr int least_evaluations = 6, most_evaluations = 100;
/// An evaluation that takes more than this part of the time is worth a word, and a measurement on some images before
/// the first plan. One of less measures itself early in the run.
constexpr double large_evaluation = 0.1;
/// An image is only passed forward, not backward, and its boxes are sorted out.
constexpr double evaluation_per_training = 0.5;

/// Recent are the last 4 % of the time, or less towards its end.
constexpr double look_back = 0.04, least_look_back = 0.01, look_back_over_left = 0.2;

constexpr double plots_seconds = 0.3;

}  // namespace

std::optional<int> evaluation_interval(const EvaluateOptions& evaluate) {
  if (evaluate.every.has_value()) return evaluate.every.value();
  return std::nullopt;
}

TimePlan::TimePlan(const RunConfig& config, int64_t val_images, Pace& pace)
    : evaluate_(config.evaluate),
      growing_(config),
      limit_(60.0 * config.train.minutes),
      save_every_(config.train.save_every),
      average_(config.train.average),
      evaluation_steps_(evaluation_per_training * val_images / config.train.batch),
      pace_(&pace) {
  if (config.input_sizes().size() > 1 && !growing_.active())
    recent_steps_ = std::max<int64_t>(recent_steps_, 5 * int64_t{config.train.size_every});
}

double TimePlan::seconds_left() const {
  return std::max(0.0, limit_ - pace_->times().used);
}

double TimePlan::evaluation_seconds() const {
  const double measured = pace_->evaluation_seconds();
  return measured > 0 ? measured : evaluation_steps_ * pace_->recent_step_seconds();
}

/// The last save and the plots.
double TimePlan::closing_seconds() const {
  const double save = pace_->save_seconds() > 0 ? pace_->save_seconds() : 1;
  return std::min(save + plots_seconds, 0.05 * limit_);
}

/// Seconds from one evaluation to the next.
double TimePlan::evaluation_spacing() const {
  const double seconds = evaluation_seconds();
  return std::max({std::min(seconds / evaluation_part, limit_ / least_evaluations - seconds),
                   seconds / largest_evaluation_part, limit_ / most_evaluations});
}

/// Seconds from the last evaluation, or the run's beginning, to the next. The first one comes early enough to
/// measure what the others take.
double TimePlan::seconds_to_next_evaluation() const {
  const RunTimes times = pace_->times();
  const bool measure = pace_->evaluation_seconds() == 0;
  const double spacing = evaluation_spacing();
  return times.evaluated_at - times.used +
         (measure ? std::min(spacing, limit_ / least_evaluations) : spacing);
}

double TimePlan::seconds_to_last_evaluation(const Progress& progress, const RunLength& length) const {
  const double steps = pace_->recent_step_seconds() * length.steps_left(progress);
  return std::min(steps, aim() - pace_->times().used);
}

bool TimePlan::evaluation_due(const Progress& progress, const RunLength& length) const {
  const int64_t epoch = progress.epoch + 1;
  if (epoch < evaluate_.start) return false;
  if (const auto every = evaluation_interval(evaluate_)) return (epoch - evaluate_.start) % *every == 0;
  if (!active()) return true;
  const double spacing = evaluation_spacing();
  const double half_epoch = 0.5 * pace_->recent_step_seconds() * length.steps_per_epoch();
  // At the epoch's end that is nearest to the wanted second, and not shortly before the run's last evaluation.
  return seconds_to_next_evaluation() <= std::min(half_epoch, 0.5 * spacing) &&
         seconds_to_last_evaluation(progress, length) >= 0.5 * spacing;
}

bool TimePlan::evaluation_due_within_epoch(const Progress& progress, const RunLength& length) const {
  if (!active() || !planned() || evaluation_interval(evaluate_)) return false;
  if (progress.epoch + 1 < evaluate_.start) return false;
  const double spacing = evaluation_spacing();
  const double to_end =
      pace_->recent_step_seconds() * static_cast<double>(length.steps_per_epoch() - progress.step);
  return seconds_to_next_evaluation() <= 0 && to_end >= 0.5 * spacing &&
         seconds_to_last_evaluation(progress, length) >= 0.5 * spacing;
}

/// The work of the next `steps` steps when they are the run's last ones.
double TimePlan::work(const Progress& progress, const RunLength& length, int64_t steps) const {
  if (!growing_.active()) return steps;
  Progress planned = progress;
  planned.plans.push_back({progress.iteration, progress.iteration + steps});
  return growing_.work(progress.iteration, progress.iteration + steps, growing_.boundaries(length, planned));
}

/// Evaluations within the next `steps` steps; the one after the last step is not counted.
int64_t TimePlan::evaluations(const Progress& progress, const RunLength& length, int64_t steps) const {
  if (steps == 0) return 0;
  const int64_t per_epoch = length.steps_per_epoch();
  const int64_t ends = (progress.step + steps - 1) / per_epoch;
  const int64_t first = progress.epoch + 1, last = first + ends - 1;
  if (const auto every = evaluation_interval(evaluate_)) {
    const auto until = [&](int64_t epoch) {
      return epoch < evaluate_.start ? 0 : (epoch - evaluate_.start) / *every + 1;
    };
    return until(last) - until(first - 1);
  }
  const RunTimes times = pace_->times();
  const double step = pace_->recent_step_seconds(), spacing = std::max(1e-9, evaluation_spacing());
  const double seconds = step * work(progress, length, steps) - 0.5 * spacing;
  const double since = std::min(times.used - times.evaluated_at, spacing);
  return std::max<int64_t>(0, static_cast<int64_t>((seconds + since) / spacing));
}

/// How many evaluations follow the last step, when there are so many `before` it from now on: that of the last
/// weights, and where there are two to average, that of their average.
int64_t TimePlan::last_evaluations(const Progress& progress, int64_t before) const {
  const int64_t kept = static_cast<int64_t>(progress.kept.size()) + before + 1;
  return evaluates_average(average_, kept) ? 2 : 1;
}

/// Seconds until the run has ended after so many more steps. `evaluated`: an epoch has just ended with an
/// evaluation, which is the last one if no step follows.
double TimePlan::seconds_to_end(const Progress& progress, const RunLength& length, int64_t steps,
                                bool evaluated) const {
  const double evaluation = evaluation_seconds();
  if (steps == 0) {
    const int64_t done = evaluated ? 1 : 0;
    return (last_evaluations(progress, -done) - done) * evaluation + closing_seconds();
  }
  const int64_t before_last = evaluations(progress, length, steps);
  const auto all = static_cast<double>(before_last + last_evaluations(progress, before_last));
  const double save = pace_->save_seconds();
  const double epoch = pace_->recent_step_seconds() * length.steps_per_epoch();
  const double between_saves = std::max<double>(save_every_, std::min(50 * save, epoch));
  const double step = pace_->recent_step_seconds() * (save > 0 ? 1 + save / between_saves : 1);
  const int64_t ends = (progress.step + steps - 1) / length.steps_per_epoch();
  return work(progress, length, steps) * step + ends * pace_->epoch_end_seconds() + all * evaluation +
         closing_seconds();
}

/// The most steps, at least `least` and at most the upper bound, after which the run ends in time.
int64_t TimePlan::fitting_steps(const Progress& progress, const RunLength& length, int64_t least,
                                bool evaluated) const {
  const double left = aim() - pace_->times().used, step = pace_->recent_step_seconds();
  int64_t fits = least, too_many = length.bound() - progress.iteration + 1;
  const double least_step = step * growing_.least_work();
  if (step > 0) too_many = std::min(too_many, static_cast<int64_t>(std::max(0.0, left) / least_step) + 2);
  while (fits + 1 < too_many) {
    const int64_t middle = fits + (too_many - fits) / 2;
    (seconds_to_end(progress, length, middle, evaluated) <= left ? fits : too_many) = middle;
  }
  return fits;
}

bool TimePlan::time_to_plan(const Progress& progress, const RunLength& length) const {
  const double used = pace_->times().used;
  if (pace_->steps() < least_steps_before_planning && used < 0.5 * limit_) return false;
  if (timing_due()) return false;
  const auto last = static_cast<double>(last_evaluations(progress, 0));
  if (used + last * evaluation_seconds() + closing_seconds() >= aim() - end * limit_) return true;
  if (length.run_trained(progress)) return true;
  if (planned_at_ == 0)
    return pace_->steps() >= steps_before_planning || used >= time_before_planning * limit_;
  return used - planned_at_ >= between_plans * limit_;
}

bool TimePlan::timing_due() const {
  return active() && pace_->steps() == least_steps_before_planning && pace_->evaluation_seconds() == 0 &&
         evaluation_seconds() > large_evaluation * limit_;
}

std::string TimePlan::describe_evaluation(int64_t images) const {
  const double seconds = evaluation_seconds(), minutes = limit_ / 60;
  if (!active() || seconds <= large_evaluation * limit_) return "";
  const std::string takes =
      seconds < aim()
          ? fmt::format("{:.0f} % of train.minutes = {:g}: few evaluations fit", 100 * seconds / limit_,
                        minutes)
          : fmt::format(
                "longer than train.minutes = {:g} allows: the run ends after a few steps, and takes "
                "about {:.1f} minutes",
                minutes, (pace_->times().used + seconds) / 60);
  return fmt::format(
      "Evaluating the {} validation images takes about {:.0f} s, {}. To train for more of the time, "
      "validate on fewer images (data.val) or raise train.minutes.",
      images, seconds, takes);
}

std::optional<int64_t> TimePlan::revise(const Progress& progress, const RunLength& length,
                                        std::optional<bool> evaluated) {
  if (!active()) return std::nullopt;
  const double used = pace_->times().used, left = limit_ - used;
  pace_->look_back(
      std::max(least_look_back * limit_, std::min(look_back * limit_, look_back_over_left * left)),
      recent_steps_);
  if (planned_at_ == 0 && !progress.plans.empty()) planned_at_ = used;  // resumed
  if (!time_to_plan(progress, length)) return std::nullopt;
  planned_at_ = used;
  // An epoch that has just ended without evaluation needs one more step, which one can follow.
  const int64_t least = evaluated.has_value() && !*evaluated ? 1 : 0;
  const int64_t fitting = fitting_steps(progress, length, least, evaluated.value_or(false));
  const int64_t now = length.steps_left(progress);
  if (fitting == now) return std::nullopt;
  // By how much the plan in force misses: seconds that it leaves, or that it takes too long.
  const double off = fitting > now
                         ? (fitting - now) * pace_->recent_step_seconds()
                         : seconds_to_end(progress, length, now, evaluated.value_or(false)) - (aim() - used);
  if (off < (left < end * limit_ ? worth_planning_at_end : worth_planning) * limit_) return std::nullopt;
  return progress.iteration + fitting;
}

}  // namespace brightnet
