// The training loop.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "data/loader/loader.h"
#include "formats/weights.h"
#include "train/loop/growing_input.h"
#include "train/loop/kept_sets.h"
#include "train/loop/pace.h"
#include "train/loop/rank_exchange.h"
#include "train/loop/run_length.h"
#include "train/loop/time_plan.h"
#include "train/loop/training_observer.h"
#include "train/loop/training_setup.h"
#include "train/loop/training_step.h"
#include "train/loop/validation.h"
#include "train/optimizer/schedule.h"
#include "train/run/checkpoint.h"

namespace brightnet {

class Trainer {
 public:
  /// Plans the run and allocates all of its device memory, exactly memory().peak(); steps allocate none.
  /// `initial` are the parameters to start from, in the layout's order.
  Trainer(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial);

  /// Resumes from the saved state; warns when the number of threads or the data differ from the saved ones.
  /// Where the configuration has another length than the run had, the rest follows the schedule of a run of
  /// that length.
  void resume();
  /// How far it is, and what the learning rate does in the rest; for a run whose length has changed, and that is
  /// not over.
  std::string describe_rest() const;
  /// Trains until all steps are done, the patience is exhausted, or a stop is requested (at any rank; all
  /// ranks then stop after the same step).
  TrainingEnd run(const std::stop_token& stop = {});

  // The parts of run(), for a custom loop. All ranks call them in the same order.

  /// Opens the training loader and tells the observers that the run begins.
  void open();
  /// Whether training is over: all steps are done, or the patience is exhausted.
  bool over() const;
  /// Whether all steps of the epoch are done.
  bool epoch_trained() const { return length_.epoch_trained(progress_); }
  /// One optimizer step on a batch, of which every rank processes its part.
  void step();
  /// Exchanges progress, requests (to stop, to save, to evaluate) and a new plan of the run's length among
  /// the ranks.
  void share_progress(const std::stop_token& stop);
  /// Evaluates within an epoch. False when a request to stop interrupted it.
  bool evaluate_within_epoch(const std::stop_token& stop);
  /// Evaluates, reports and saves the epoch. False when a request to stop interrupted it: the epoch has not
  /// ended.
  bool end_epoch(const std::stop_token& stop);
  /// Whether the run, once over, still has to evaluate the average of its best weights (train.average).
  bool average_due() const;
  /// Evaluates that average and writes it if it scores better than the best weights. False when a request to
  /// stop interrupted it: it stays due. The state is saved before: an error, which does end the run, costs none of it.
  bool try_average(const std::stop_token& stop);
  /// Waits for the device, shares progress, and saves the state and the last weights.
  void save(const std::stop_token& stop);
  /// After the last epoch: the final state.
  void close();

  const Progress& progress() const { return progress_; }
  /// Metrics of the best evaluation so far; without curves and confusion matrix if it preceded a resume. None
  /// before the first, or when an old version that did not save them made it.
  const std::optional<Metrics>& best_metrics() const { return validation_.best(); }
  /// Of the last evaluation in this process.
  const std::optional<Metrics>& last_metrics() const { return validation_.last(); }
  /// The last weights on other images than the validation split's, by all ranks; none when one of them was
  /// asked to stop. An error of one rank is a SharedError of all.
  std::optional<Metrics> evaluate(const Dataset& images, const std::stop_token& stop = {});
  /// What the run has taken so far, and seconds until its time limit; no limit: none.
  const Pace& pace() const { return pace_; }
  std::optional<double> seconds_left() const;
  RunMemory memory() const { return step_.memory(); }

 private:
  bool leads() const { return setup_.communicator.leads(); }
  TrainingEnd train(const std::stop_token& stop);
  void open_loader();
  void choose_assignment();
  float pretrained_share() const;
  const Batch& next_batch(int part);
  EpochSums time_counters() const;
  double work(int64_t from, int64_t to) const;
  void adopt_state(const StepState& seen);
  RankReport own_report(const std::stop_token& stop) const;
  void synchronize(const std::stop_token& stop);
  bool evaluation_due();
  void keep_if_best(const Metrics& metrics);
  void begin_epoch();

  void time_evaluation(const std::stop_token& stop);
  void fit_into_minutes(bool evaluated);
  void adopt_plan(int64_t steps);
  void follow_plan(const Plan& plan);
  void say_plan();
  RunEnd loader_end() const;

  TrainingStatus status() const;
  double epochs_done() const;

  TrainingEnd save_and_stop(const std::stop_token& stop);
  void write_state();
  void write_averaged_weights(const std::filesystem::path& file);
  void write_weights(const std::filesystem::path& file, std::vector<float> values, const Metrics* metrics);
  void keep_average_if_better(std::vector<float> values, const Metrics& metrics, int sets);

  TrainingSetup setup_;
  const ParameterLayout& layout_;
  RunLength length_;
  Schedule schedule_;
  /// Of the last step. A plan made after it does not tell any more.
  float rate_ = 0;
  bool static_assignment_ = false;
  SplitFingerprint train_data_, val_data_;

  TrainingStep step_;
  Validation validation_;
  Pace pace_;
  GrowingInput growing_;
  TimePlan time_plan_;
  /// The plan that was reported last, in steps, and the seconds used by then.
  Plan said_;
  double said_at_ = 0;
  /// Without the epoch's sums, which the ranks have together; its losses are this rank's alone.
  Progress progress_;
  RankExchange ranks_;

  std::unique_ptr<Loader> loader_;
  KeptSets kept_;
  Observers observers_;
  bool resumed_ = false;
};

}  // namespace brightnet
