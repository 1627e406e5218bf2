// Trains a network, as `brightnet train` does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "brightnet/device.h"
#include "brightnet/evaluate.h"
#include "brightnet/public.h"

namespace brightnet {

/// What is trained on what. Everything may be left out that another part says: a configuration names model and data, and a
/// resumed run has all of it.
struct TrainingOptions {
  std::filesystem::path config = {};  ///< a run's YAML, or darknet's .cfg
  std::string model = {};             ///< a name that `brightnet models` lists, or the path of a YAML or .cfg
  std::string data = {};              ///< what `--data` takes (dataset.h)
  /// What `--set` takes: "train.epochs=50", "train.size=416"; the last one wins.
  std::vector<std::string> settings = {};
  std::string weights = {};           ///< pretrained, to start from: a file or a published name
  bool resume = false;                ///< continue the run in `folder`, or the newest of this configuration
  std::filesystem::path folder = {};  ///< of the run; a new one is numbered if it exists. Empty: runs/NAME
  DeviceOptions device = {};
};

/// How far a run is.
struct StepReport {
  int64_t epoch = 0, epochs = 0;  ///< the current one from 1, and how many there will be; 0: not known yet
  int64_t step = 0, steps = 0;    ///< of the epoch
  int64_t iteration = 0;          ///< steps since the start of the run
  double rate = 0;                ///< the learning rate
  double loss = 0, box = 0, objectness = 0, classes = 0;  ///< means of the epoch so far (docs/loss.md)
  double seconds_left = -1;                               ///< of the run; negative: not known yet
};

/// Is told what happens in a run, by the thread that called train(). What a member function throws ends nothing: it is
/// logged once, and this observer is told nothing more. An evaluation within an epoch is told by evaluated() alone. A stop
/// that an observer requests takes effect after at most one more step.
class BRIGHTNET_PUBLIC RunObserver {
 public:
  virtual ~RunObserver();
  /// Before the first step. `folder` is the run's.
  virtual void began(const std::filesystem::path& folder);
  virtual void step(const StepReport& report);
  virtual void evaluated(const StepReport& report, const Scores& scores);
  /// `scores` is null for an epoch that does not end with an evaluation.
  virtual void epoch(const StepReport& report, const Scores* scores);
};

enum class TrainingOutcome : uint8_t {
  finished,
  no_better,  ///< train.patience evaluations without a better score
  stopped,    ///< on request; everything is saved, and the run can be resumed
  was_over,   ///< the run that was to be resumed had nothing left to do
};

struct TrainingResult {
  TrainingOutcome outcome = TrainingOutcome::finished;
  std::filesystem::path folder = {};  ///< of the run
  std::filesystem::path
      weights;  ///< the weights to use: the best ones, their average if it is better, or the last ones
  int64_t epochs = 0, iterations = 0;  ///< done
  std::optional<Scores> best = {};     ///< of the best evaluation; none before the first
};

/// Trains until the run is over, or until `stop` is requested: it then finishes the step, saves and returns. Blocks.
/// Messages go to the log (log.h); no signal handler is installed, and nothing is printed. One run at a time in a process.
///
/// Throws InputError for what cannot be trained and for files that could not be written to the end, DeviceError when the
/// device cannot be used.
BRIGHTNET_PUBLIC TrainingResult train(const TrainingOptions& options, const std::stop_token& stop = {},
                                      RunObserver* observer = nullptr);

}  // namespace brightnet
