// How long a run is, and all that follows from its length: rates, assignment, input sizes, the last part without
// mosaic, and under a time limit the plans that the length is made to fit by (train/loop/time_plan.h).
#pragma once

#include <optional>
#include <string>

#include "data/loader/loader.h"
#include "train/loop/growing_input.h"
#include "train/loop/length.h"
#include "train/loop/pace.h"
#include "train/loop/time_plan.h"
#include "train/loop/training_setup.h"
#include "train/optimizer/schedule.h"

namespace brightnet {

/// The warm-up, in optimizer steps, of a run that goes on with another length than `before` gave it: one that is over
/// stays so; of any other, what had passed or a tenth of the new length, whichever is more. One that was set to more
/// than a tenth keeps its part of the run. `run` has the warm-up as it was; `images`: of the training split.
int64_t warmup_of_new_length(const RunConfig& run, const TrainOptions& before, Progress progress,
                             int64_t images);

/// It is the same on all ranks, which adopt the same plans after the same steps.
class TrainingPlan {
 public:
  /// Both arguments outlive this object.
  TrainingPlan(const TrainingSetup& setup, Pace& pace);

  /// Continues a saved run, whose plans it repeats. Where the configuration has another length than the run had,
  /// the rest follows the schedule of a run of that length.
  void resume(Progress& progress);
  /// Gives the run this many steps from now on; reported when it is the first plan or differs by much.
  void adopt(int64_t steps, Progress& progress);

  const RunLength& length() const { return length_; }
  /// Clocks differ: only what rank 0 decides by this counts.
  TimePlan& time() { return time_plan_; }
  const TimePlan& time() const { return time_plan_; }
  /// A new length, when it is time for one (TimePlan::revise()); 0: none.
  int64_t revised(const Progress& progress, std::optional<bool> evaluated = std::nullopt) {
    return time_plan_.revise(progress, length_, evaluated).value_or(0);
  }

  /// The learning rate of a step.
  float rate(int64_t iteration) const { return schedule_.rate(iteration); }
  /// The share of the learning rate that pretrained layers have in the next step.
  float pretrained_share(const Progress& progress) const;
  /// Whether simota takes all of its candidates in this step (train.static_assignment), the next or the last one.
  bool assigns_statically(const Progress& progress, int64_t step) const;
  /// The stage by the plans alone (Progress::input_stage), as of the last step.
  int input_stage(const Progress& progress) const;
  const GrowingInput& growing() const { return growing_; }
  /// The work of the steps [from, to), in steps of the largest input.
  double work(const Progress& progress, int64_t from, int64_t to) const;
  /// Says where the run ends, and where its last part begins, for a loader that starts here.
  RunEnd loader_end(const Progress& progress, int micro_batches) const;

  /// Epochs of the whole run; 0: not known yet.
  int64_t epochs(const Progress& progress) const;
  /// Seconds until the run's last step; negative: unknown.
  double seconds_left(const Progress& progress) const;
  /// How far the run is, and what the learning rate does in the rest.
  std::string describe_rest(const Progress& progress) const;

 private:
  bool limited(const Progress& progress) const;
  void follow(const Plan& plan);
  void report(const Progress& progress);

  const RunConfig& config_;
  Pace& pace_;
  RunLength length_;
  Schedule schedule_;
  GrowingInput growing_;
  TimePlan time_plan_;
  /// The plan that was reported last, in steps, and the seconds used by then.
  Plan reported_;
  double reported_at_ = 0;
};

}  // namespace brightnet
