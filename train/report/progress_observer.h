// A run's progress in messages: a line that says how far it is, one for each epoch and evaluation, and a warning
// for an epoch in which nothing was learned.
#pragma once

#include <optional>

#include "core/progress_line.h"
#include "train/loop/training_observer.h"
#include "train/loop/training_setup.h"
#include "train/report/progress_text.h"

namespace brightnet {

class ProgressObserver : public TrainingObserver {
 public:
  /// `setup` outlives it.
  explicit ProgressObserver(const TrainingSetup& setup);

  std::string name() const override { return "The progress line"; }
  void run_began(const RunBegan& event) override;
  void step_done(const StepDone& event) override;
  void images_evaluated(const ImagesEvaluated& event) override;
  void evaluated(const Evaluated& event) override;
  void epoch_ended(const EpochEnded& event) override;

 private:
  std::string text(const TrainingStatus& status, bool just_evaluated) const;

  const TrainingSetup& setup_;
  ProgressLine line_;
  /// The scores of the newest evaluation.
  std::optional<LastScores> scores_;
};

}  // namespace brightnet
