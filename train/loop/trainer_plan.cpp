// A trainer's length under a time limit: adopting plans, which the schedule and the loader follow.
#include <algorithm>
#include <cmath>

#include "core/log.h"
#include "train/loop/trainer.h"

namespace brightnet {
namespace {

/// "58", or "0.4" of less than ten.
std::string rounded(double epochs) {
  return epochs < 9.5 ? fmt::format("{:.2g}", epochs) : fmt::format("{:.0f}", epochs);
}

}  // namespace

/// Of two passes over a few images the second one is timed, after everything has been used once.
void Trainer::time_evaluation(const std::stop_token& stop) {
  constexpr int64_t part = 50, least = 16;
  const auto all = static_cast<int64_t>(setup_.val.images.size());
  const int64_t count = std::min(all, std::max(least * setup_.communicator.size(), all / part));
  const Dataset images = some_of(setup_.val, count);
  const double began = pace_.now();
  synchronize(stop);
  double seconds = 0;
  for (int pass = 0; pass < 2; ++pass) {
    const double pass_began = pace_.now();
    if (!validation_.measure(step_.averaged_network(), images, stop))
      return;  // the run stops after the next step
    seconds = pace_.now() - pass_began;
  }
  pace_.evaluation_timed(began, seconds * static_cast<double>(all) / static_cast<double>(count));
  const std::string costly = leads() ? time_plan_.describe_evaluation(all) : "";
  if (!costly.empty()) log::warn("{}", costly);
}

/// After an epoch's end, which may have taken long. (After each step, share_progress() brings new plans.)
void Trainer::fit_into_minutes(bool evaluated) {
  if (!time_plan_.active() || length_.run_trained(progress_)) return;
  int64_t steps = 0;
  if (leads()) steps = time_plan_.revise(progress_, length_, evaluated).value_or(0);
  steps = ranks_.of_rank_0(steps);
  if (steps > 0) adopt_plan(steps);
}

/// The run has this many steps from now on. Each plan is saved with the step at which it was made: a resumed
/// run replays them, and so has the rates and samples that the whole run had up to there.
void Trainer::adopt_plan(int64_t steps) {
  const Plan plan{progress_.iteration, steps};
  progress_.plans.push_back(plan);
  follow_plan(plan);
  loader_->set_end(loader_end());
  say_plan();
}

void Trainer::follow_plan(const Plan& plan) {
  constexpr double warmup_limit = 0.1;
  length_.set_steps(plan.steps);
  schedule_.change_total(plan.made_at, plan.steps, time_plan_.active() ? warmup_limit : 1);
}

RunEnd Trainer::loader_end() const {
  // The loader counts from the first epoch, whose steps may have been more or fewer before the data changed.
  const int64_t before = static_cast<int64_t>(progress_.epoch) * length_.steps_per_epoch() +
                         static_cast<int64_t>(progress_.step) - progress_.iteration;
  const auto batches = [&](int64_t step) {
    return static_cast<uint64_t>(std::max<int64_t>(0, step + before)) *
           static_cast<uint64_t>(step_.micro_batches());
  };
  RunEnd end;
  end.batches = batches(length_.steps());
  end.plain_from = batches(length_.last_part(setup_.config.augment.whole_images(), progress_.plans));
  for (const int64_t step : growing_.boundaries(length_, progress_.plans))
    end.larger_from.push_back(batches(step));
  return end;
}

/// Reports the first plan, and later ones that differ by more than a tenth, at most ten times in all.
void Trainer::say_plan() {
  constexpr double difference = 0.1, between = 0.1;
  const double minutes = setup_.config.train.minutes, used = pace_.times().used;
  const bool first = said_.steps == 0;
  const auto changed = static_cast<double>(std::abs(length_.steps() - said_.steps));
  if (!first && (changed <= difference * static_cast<double>(said_.steps) ||
                 used - said_at_ < between * 60 * minutes)) {
    return;
  }
  said_ = progress_.plans.back();
  said_at_ = used;
  const double epochs =
      static_cast<double>(progress_.epoch) +
      static_cast<double>(static_cast<int64_t>(progress_.step) + length_.steps_left(progress_)) /
          static_cast<double>(length_.steps_per_epoch());
  log::info("About {} epochs fit into train.minutes = {:g}{}.", rounded(epochs), minutes,
            first ? "" : " at the speed of now");
}

}  // namespace brightnet
