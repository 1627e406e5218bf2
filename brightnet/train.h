// Trains a network, as `brightnet train` does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "brightnet/configuration.h"
#include "brightnet/evaluate.h"
#include "brightnet/public.h"
#include "brightnet/ranks.h"

namespace brightnet {

/// The configuration of a run, its beginning and its folder.
struct TrainingOptions {
  Configuration run = {};             ///< a resumed run has its own
  int64_t epochs = 0;                 ///< train.epochs in the place of the file's length; 0: as `run` says
  std::string weights = {};           ///< pretrained weights to start from: a file or a published name
  std::string weights_cfg = {};       ///< the .cfg of darknet's weights that belong to another model
  bool weights_partial = false;       ///< darknet's weights may match the model only up to a point
  bool resume = false;                ///< continue the run in `folder`, or the newest of this configuration
  std::filesystem::path folder = {};  ///< the run's; a new run's is numbered if it exists. Empty: runs/NAME
  std::filesystem::path out = {};  ///< with `resume` and no `folder`: what that was for the run; else empty
  std::string device = "auto";     ///< as DeviceOptions::device
  bool no_graph = false;           ///< launches kernels one by one instead of by CUDA graphs
};

/// The progress of a run.
struct StepReport {
  int64_t epoch = 0, epochs = 0;  ///< the current one from 1, and how many there will be; 0: not known yet
  int64_t step = 0, steps = 0;    ///< the current one, and how many the epoch has
  int64_t iteration = 0;          ///< steps since the start of the run
  double rate = 0;                ///< the learning rate
  double loss = 0, box = 0, objectness = 0, classes = 0;  ///< means of the epoch so far (docs/loss.md)
  double seconds_left = -1;                               ///< until the run's end; negative: not known yet
};

/// Is told what happens in a run, by the thread that called train(). What a member function throws ends nothing: it is
/// logged once, and this observer is told nothing more. An evaluation within an epoch is told by evaluated() alone. A stop
/// that an observer requests takes effect after at most one more step.
class BRIGHTNET_PUBLIC RunObserver {
 public:
  virtual ~RunObserver();
  /// Called before the first step. `folder` is the run's.
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
  std::filesystem::path folder = {};  ///< the run's folder
  /// The weights to use: the best ones, their average if it is better, or the last ones.
  std::filesystem::path weights;
  int64_t epochs = 0, iterations = 0;  ///< how many were trained, in all
  /// Of the best evaluation, also where `weights` are an average, which has other scores; without a value before the first.
  std::optional<Scores> best = {};
};

/// Trains until the run is over, or until `stop` is requested: it then finishes the step, saves and returns. Blocks.
/// Messages go to the log (log.h); no signal handler is installed, and nothing is printed. One run at a time in a process.
///
/// Throws InputError for what cannot be trained, while another run is trained in the process, and for files that could not be
/// written to the end, DeviceError when the device cannot be used.
BRIGHTNET_PUBLIC TrainingResult train(const TrainingOptions& options, const std::stop_token& stop = {},
                                      RunObserver* observer = nullptr);

/// Where a program takes part in a training over ranks.
struct TrainingHooks {
  /// Called once the run can be stopped and resumed; before that, a stop ends it with nothing to save. Returns the token by
  /// which it is asked to stop: every rank has its own, and one is enough.
  std::function<std::stop_token()> can_be_stopped = {};
  RunObserver* observer = nullptr;  ///< is told what happens; on the first rank only
};

/// Trains as the function above does, called by all ranks. The run's log keeps later messages of the process as well, which say
/// how it ended.
BRIGHTNET_PUBLIC TrainingResult train(const TrainingOptions& options, Ranks& ranks,
                                      const TrainingHooks& hooks = {});

/// Settings of a run for the program that starts its processes.
struct PlannedTraining {
  int restarts = 0;  ///< train.restarts
};

/// Reads a configuration. Throws InputError for what train() refuses in it before it has read the data, so that it is said
/// before `ranks` processes are started.
BRIGHTNET_PUBLIC PlannedTraining check_training(const TrainingOptions& options, int ranks);

}  // namespace brightnet
