// What a trainer tells of itself.
#include <algorithm>

#include "train/distributed/agreement.h"
#include "train/loop/trainer.h"

namespace brightnet {

/// Epochs done, the current one in part: never the whole of one that has not been reported.
double Trainer::epochs_done() const {
  const auto steps = static_cast<double>(length_.steps_per_epoch());
  return static_cast<double>(progress_.epoch) +
         std::min(static_cast<double>(progress_.step), steps - 0.5) / steps;
}

TrainingStatus Trainer::status() const {
  const bool inside = progress_.step > 0 && !epoch_trained();
  TrainingStatus run;
  const bool limited = time_plan_.active() && !length_.run_trained(progress_);
  // Without a plan, epochs are the upper bound, which a time limit may never let the run reach.
  run.epochs = limited && !time_plan_.planned() && progress_.plans.empty() ? 0 : length_.epochs(progress_);
  // While an epoch is evaluated at its end, all its steps are done but it still counts as the current one.
  run.epoch = std::min<int64_t>(length_.epochs(progress_),
                                static_cast<int64_t>(progress_.epoch) + (progress_.step > 0 ? 1 : 0));
  run.step = inside ? static_cast<int64_t>(progress_.step) : 0;
  run.steps_per_epoch = length_.steps_per_epoch();
  run.epochs_done = epochs_done();
  run.iteration = progress_.iteration;
  run.iterations = setup_.config.train.iterations;
  run.sums = ranks_.sums();
  run.losses = ranks_.losses();
  run.seconds_left = pace_.seconds_of(work(progress_.iteration, length_.steps()));
  if (limited) {
    const double limit = time_plan_.seconds_left();
    if (run.seconds_left < 0 || run.seconds_left > limit || length_.steps() < length_.bound())
      run.seconds_left = limit;
  }
  run.rate = rate_;
  if (step_.optimizer().scales_loss()) run.loss_scale = progress_.state.loss_scale;
  return run;
}

std::optional<Metrics> Trainer::evaluate(const Dataset& images, const std::stop_token& stop) {
  try {
    return validation_.measure(step_.averaged_network(), images, stop);
  } catch (const SharedError&) {  // all ranks have left the evaluation at the same call
    throw;
  } catch (...) {
    setup_.collectives.abandon();
    throw;
  }
}

std::optional<double> Trainer::seconds_left() const {
  return time_plan_.active() ? std::optional(time_plan_.seconds_left()) : std::nullopt;
}

}  // namespace brightnet
