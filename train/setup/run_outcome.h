// What closing_words() looks at, gathered from a run that has ended.
#pragma once

#include "train/loop/trainer.h"
#include "train/run/report/closing_words.h"
#include "train/setup/preparation.h"

namespace brightnet {

/// The trainer has an evaluation. `stopped_early`: by train.patience.
RunOutcome run_outcome(const Trainer& trainer, const Preparation& run, const RunFolder& folder,
                       bool stopped_early);

/// Logs what the curves say (train/run/report/closing_words.h), and puts it into the run's report. For rank 0.
void say_closing_words(Trainer& trainer, const Preparation& run, const RunFolder& folder, bool stopped_early);

}  // namespace brightnet
