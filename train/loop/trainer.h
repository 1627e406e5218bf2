// The training loop.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/loader.h"
#include "train/distributed/communicator.h"
#include "train/distributed/gradient_exchange.h"
#include "train/evaluate/evaluate.h"
#include "train/formats/weights.h"
#include "train/loop/interrupt.h"
#include "train/loop/memory.h"
#include "train/optimizer/optimizer_step.h"
#include "train/optimizer/schedule.h"
#include "train/run/checkpoint.h"
#include "train/run/progress_line.h"
#include "train/run/run_folder.h"
#include "train/run/run_report.h"

namespace brightnet {

enum class TrainingEnd : uint8_t {
  finished,
  no_better,    ///< `patience` evaluations without a better score
  interrupted,  ///< by a signal; the state is saved
};

/// What a run works on; everything outlives the trainer. train.micro_batch is a number by now, and
/// train.batch a multiple of it times the number of ranks. All ranks have the same, but for the data that
/// they draw; rank 0 alone writes into the folder.
struct TrainingSetup {
  const RunConfig& config;
  const Model& model;
  const Dataset& train;
  const Dataset& val;
  Backend& backend;
  const RunFolder& folder;
  Communicator& communicator = Communicator::solo();
  DeviceCollectives& collectives = communicator.host_collectives();
};

class Trainer {
 public:
  /// Plans the run and takes all of its device memory, which is exactly memory().peak(); steps take none.
  /// `initial` are the parameters to start from, in the layout's order.
  Trainer(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial);

  /// Takes over a saved state; warns when it was made with another number of threads or from other data.
  void resume();
  /// Whether there is nothing left to train: all steps are done, or a better score has stayed away too long.
  bool over() const { return (finished() && progress_.step == 0) || out_of_patience(); }
  /// Trains until the end, a better score stays away for too long, or a signal comes (to any of the ranks,
  /// which then stop after the same step).
  TrainingEnd run(const Interrupt& interrupt);

  const RunMemory& memory() const { return memory_; }
  const Progress& progress() const { return progress_; }
  /// Of the best evaluation so far; without its curves and confusion matrix if that was before the run was
  /// resumed. None before the first, or when a version that did not save them made it.
  const std::optional<Metrics>& best_metrics() const { return best_metrics_; }

 private:
  bool leads() const { return communicator_.leads(); }
  void open_loader();
  void open_report();
  void plan_length(int64_t total);
  void fit_into_minutes();
  void step();
  void pass(int part);
  void update();
  void take_over(const StepState& seen);
  void confer(const Interrupt& interrupt);
  void settle(const Interrupt& interrupt);
  bool end_epoch(const Interrupt& interrupt);
  std::optional<Metrics> evaluate_average(const Interrupt& interrupt);
  void gather_pictured();
  void judge(const Metrics& metrics);
  bool evaluated_this_epoch() const;
  bool out_of_patience() const;
  bool finished() const { return progress_.iteration >= total_; }

  void save();
  void save_averaged_weights(const std::filesystem::path& file) const;
  std::vector<StateArray> state_arrays() const;
  std::string describe_progress(const std::optional<Metrics>& metrics) const;
  int64_t epochs() const;
  void compare_data(const RunState& state) const;
  void advise_on_loader();

  TrainingSetup setup_;
  const ParameterLayout& layout_;
  Backend& backend_;
  Communicator& communicator_;
  int parts_;  ///< micro-batches of a step on this rank
  int64_t steps_per_epoch_, total_;
  Schedule schedule_;
  SplitFingerprint train_data_, val_data_;

  DeviceBuffer values_, gradients_, arena_;
  Parameters trained_, averaged_;
  std::optional<GradientExchange> exchange_;  ///< where there are other ranks
  std::unique_ptr<OptimizerStep> optimizer_step_;
  RunNetworks networks_;
  RunMemory memory_;

  std::unique_ptr<WorkClock> clock_;
  std::unique_ptr<Recording> update_;  ///< optimizer_step_->step(), once it was recorded
  int64_t updates_ = 0;                ///< of this process
  bool advised_ = false;

  std::unique_ptr<Loader> loader_;
  Progress progress_;      ///< its sums are this rank's
  EpochSums all_sums_;     ///< over all ranks, at the last conference
  LossTotals all_losses_;  ///< likewise
  bool stop_ = false;      ///< a signal has come to some rank, as of the last conference
  bool save_due_ = false;  ///< the last saved state is old, as of the last conference
  std::unique_ptr<RunReport> report_;
  ProgressLine line_;
  std::optional<Metrics> best_metrics_, last_metrics_;
  std::vector<std::vector<ScoredBox>> val_boxes_;  ///< of the pictured images; on rank 0 of all
  double saved_at_ = 0, saving_seconds_ = 0, step_seconds_ = 0, began_at_ = 0, evaluation_seconds_ = 0;
  double first_half_at_ = 0, first_epoch_at_ = 0;  ///< when the first epoch's steps were half done, and done
  bool resumed_ = false;
};

}  // namespace brightnet
