// What closing_words() looks at, gathered from a run that has ended.
#pragma once

#include "train/report/closing_words.h"
#include "train/report/report_observer.h"
#include "train/setup/preparation.h"

namespace brightnet {

/// Facts that are known only once a run has ended.
struct RunEnding {
  /// Whether train.patience ended it.
  bool stopped_early = false;
  std::optional<TrainingImages> training_images = std::nullopt;
};

/// Gathers what is known of a run that has ended. `best`: the metrics of its best evaluation.
RunOutcome run_outcome(const Preparation& run, const RunFolder& folder, const Metrics& best,
                       const RunEnding& ending);

/// Logs what the curves say (train/report/closing_words.h), and puts it into the run's report; of a run that was
/// never evaluated, nothing. For rank 0.
void say_closing_words(const Preparation& run, const RunFolder& folder, const std::optional<Metrics>& best,
                       const RunEnding& ending, ReportObserver& report);

}  // namespace brightnet
