// The training loop.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/loader/loader.h"
#include "train/formats/weights.h"
#include "train/loop/interrupt.h"
#include "train/loop/pace.h"
#include "train/loop/rank_report.h"
#include "train/loop/run_length.h"
#include "train/loop/training_setup.h"
#include "train/loop/training_step.h"
#include "train/loop/validation.h"
#include "train/optimizer/schedule.h"
#include "train/run/checkpoint.h"
#include "train/run/loader_advice.h"
#include "train/run/progress_line.h"
#include "train/run/run_report.h"

namespace brightnet {

enum class TrainingEnd : uint8_t {
  finished,
  /// `patience` evaluations without a better score.
  no_better,
  /// By a signal; the state is saved.
  interrupted,
};

class Trainer {
 public:
  /// Plans the run and takes all of its device memory, which is exactly memory().peak(); steps take none.
  /// `initial` are the parameters to start from, in the layout's order.
  Trainer(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial);

  /// Goes on from the saved state; warns when it was made with another number of threads or from other data.
  void resume();
  /// Trains until the end, a better score stays away for too long, or a signal comes (to any of the ranks,
  /// which then stop after the same step).
  TrainingEnd run(const Interrupt& interrupt);

  // The parts of run(), for a loop of one's own. All ranks call them in the same order.

  /// Opens the data's loader and the run's report.
  void open();
  /// Whether nothing is left to train: all steps are done, or a better score has stayed away too long.
  bool over() const;
  /// Whether all steps of the epoch are done.
  bool epoch_trained() const { return length_.epoch_trained(progress_); }
  /// One optimizer step: a batch, of which every rank passes its part.
  void step();
  /// The ranks tell each other how far they are, whether one of them was asked to stop, and whether to save;
  /// all_ranks() has it then.
  void share_progress(const Interrupt& interrupt);
  /// The epoch's evaluation, report and state. False when a signal came meanwhile: the epoch has not ended.
  bool end_epoch(const Interrupt& interrupt);
  /// Waits for the device, shares the progress, and saves the state and the last weights.
  void save(const Interrupt& interrupt);
  /// After the last epoch: the final state and plots.
  void close();

  const Progress& progress() const { return progress_; }
  /// As of the last share_progress().
  const RankReport& all_ranks() const { return all_ranks_; }
  /// Of the best evaluation so far; without its curves and confusion matrix if that was before the run was
  /// resumed. None before the first, or when a version that did not save them made it.
  const std::optional<Metrics>& best_metrics() const { return validation_.best(); }
  RunMemory memory() const { return step_.memory(); }

 private:
  bool leads() const { return setup_.communicator.leads(); }
  void open_loader();
  const Batch& next_batch(int part);
  EpochSums time_counters() const;
  void adopt_state(const StepState& seen);
  void synchronize(const Interrupt& interrupt);
  void keep_if_best(const Metrics& metrics);
  void begin_epoch();
  void set_length(int64_t steps);
  void fit_into_minutes();

  void show_progress();
  void report_epoch(const std::optional<Metrics>& metrics);
  std::string describe_progress(const std::optional<Metrics>& metrics) const;
  float loss_scale() const;

  TrainingEnd stop(const Interrupt& interrupt);
  void write_state();
  void write_averaged_weights(const std::filesystem::path& file) const;

  TrainingSetup setup_;
  const ParameterLayout& layout_;
  RunLength length_;
  Schedule schedule_;
  SplitFingerprint train_data_, val_data_;

  TrainingStep step_;
  Validation validation_;
  Pace pace_;
  /// Its sums and losses are this rank's.
  Progress progress_;
  RankReport all_ranks_;

  std::unique_ptr<Loader> loader_;
  LoaderAdvisor loader_advisor_;
  /// On rank 0.
  std::unique_ptr<RunReport> report_;
  ProgressLine line_;
  bool resumed_ = false;
};

}  // namespace brightnet
