// The training loop: the order in which a run steps, evaluates and saves. Its parts are beside it: the step
// (training_step.h), the length (training_plan.h), evaluations (validation.h), what the ranks tell each other
// (rank_exchange.h), what is saved (checkpoint_writer.h) and who watches (training_observer.h).
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "train/loop/checkpoint_writer.h"
#include "train/loop/pace.h"
#include "train/loop/rank_exchange.h"
#include "train/loop/training_observer.h"
#include "train/loop/training_plan.h"
#include "train/loop/training_setup.h"
#include "train/loop/training_step.h"
#include "train/loop/validation.h"

namespace brightnet {

class Trainer {
 public:
  /// Plans the run and allocates all of its device memory, exactly memory().peak(); steps allocate none.
  /// `layout` is that of trained_model(); `initial`: the parameters to start from, in its order.
  Trainer(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial);

  /// Resumes from the saved state; warns when the number of threads or the data differ from the saved ones.
  /// Where the configuration has another length than the run had, the rest follows the schedule of a run of
  /// that length.
  void resume();
  /// Trains until all steps are done, the patience is exhausted, or a stop is requested (at any rank; all
  /// ranks then stop after the same step).
  TrainingEnd run(const std::stop_token& stop = {});
  /// The last weights on other images than the validation split's, by all ranks; none when one of them was
  /// asked to stop. An error of one rank is a SharedError of all.
  std::optional<Metrics> evaluate(const Dataset& images, const std::stop_token& stop = {});

  /// Whether training is over: all steps are done, or the patience is exhausted.
  bool over() const;
  /// Whether all steps of the run's length are done; a run that is over without them ended early.
  bool length_trained() const { return plan_.length().run_trained(progress_); }
  /// Whether the run, once over, still has to evaluate the average of its best weights (train.average).
  bool average_due() const;
  const Progress& progress() const { return progress_; }
  /// How far the run is, and what the learning rate does in the rest; for a run whose length has changed, and
  /// that is not over.
  std::string describe_rest() const { return plan_.describe_rest(progress_); }
  /// Metrics of the best evaluation so far; without curves and confusion matrix if it preceded a resume. None
  /// before the first, or when an old version that did not save them made it.
  const std::optional<Metrics>& best_metrics() const { return validation_.best(); }
  /// The metrics of the last evaluation in this process.
  const std::optional<Metrics>& last_metrics() const { return validation_.last(); }
  RunMemory memory() const { return step_.memory(); }
  /// The times that the run has taken so far, and the seconds until its time limit; none without a limit.
  const Pace& pace() const { return pace_; }
  std::optional<double> seconds_left() const;

 private:
  TrainingEnd train(const std::stop_token& stop);
  void abandon_sums();
  TrainingEnd save_and_stop(const std::stop_token& stop);

  // Each is called by all ranks together. Those that return bool return false when they were asked to stop.
  void begin();
  void step();
  void share_progress(const std::stop_token& stop);
  void synchronize(const std::stop_token& stop);
  void time_evaluation(const std::stop_token& stop);
  bool evaluate_within_epoch(const std::stop_token& stop);
  bool end_epoch(const std::stop_token& stop);
  bool try_average(const std::stop_token& stop);
  bool keep_if_best(const Metrics& metrics);
  void fit_into_minutes(bool evaluated);
  void adopt_plan(int64_t steps);
  void save(bool last = false);

  bool leads() const { return setup_.communicator.leads(); }
  bool epoch_trained() const { return plan_.length().epoch_trained(progress_); }
  bool evaluation_due();
  RankReport own_report(const std::stop_token& stop) const;
  Loader::Setup loader_setup() const;
  const Batch& next_batch(int part);
  void choose_assignment();
  void enter_stage(int stage);
  Network& evaluated_network();
  void adopt_state(const StepState& seen);
  EpochSums time_counters() const;
  TrainingStatus status() const;
  double epochs_done() const;

  TrainingSetup setup_;
  Pace pace_;
  TrainingPlan plan_;
  TrainingStep step_;
  Validation validation_;
  RankExchange ranks_;
  CheckpointWriter checkpoints_;
  Observers observers_;
  std::unique_ptr<JpegDecoder> decoder_;  ///< none: the CPU decodes everything
  std::unique_ptr<Loader> loader_;

  /// The progress without the epoch's sums, which the ranks have together; its losses are this rank's alone.
  Progress progress_;
  bool static_assignment_ = false, resumed_ = false;
};

}  // namespace brightnet
