// Fills the report of a run in its folder (train/report/report_files.h) with what the run tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/loop/training_observer.h"
#include "train/loop/training_setup.h"
#include "train/report/report_files.h"

namespace brightnet {

class ReportObserver : public TrainingObserver {
 public:
  /// `choices`: a key, its value and why, of every value that was chosen automatically. `setup` and `layout`
  /// outlive it.
  ReportObserver(const TrainingSetup& setup, const ParameterLayout& layout,
                 std::vector<std::vector<std::string>> choices);

  std::string name() const override { return "The run's report"; }
  void run_began(const RunBegan& event) override;
  void batch_loaded(const BatchLoaded& event) override;
  void step_done(const StepDone& event) override;
  void evaluated(const Evaluated& event) override;
  void epoch_ended(const EpochEnded& event) override;
  void best_found(const BestFound& event) override;
  void run_ended(const RunEnded& event) override;
  void run_failed(const RunFailed& event) override;

  /// Puts a finished run's closing words into its report.
  void add_closing_words(const std::vector<std::string>& sentences);

 private:
  const TrainingSetup& setup_;
  const ParameterLayout& layout_;
  std::vector<std::vector<std::string>> choices_;
  BestEffort best_effort_;
  std::optional<RunReport> report_;
  /// The losses of the last point of the training's curves.
  LossTotals point_losses_;
  EpochSums point_sums_;
  double point_at_ = 0;
};

}  // namespace brightnet
