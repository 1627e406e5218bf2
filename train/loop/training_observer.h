// What a run tells those who watch it: reports, progress lines, a host program's callbacks. Watching decides
// nothing: a run that nobody watches ends in the same weights and the same saved state. An observer that wants
// the run to end requests that of the std::stop_source whose token Trainer::run() was given.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "detect/evaluate/metrics.h"
#include "train/run/progress.h"

namespace brightnet {

/// How far a run is, and how fast, over all ranks.
struct TrainingStatus {
  /// The epoch being trained, or the one that has just ended, from 1, and the number of epochs; 0: unknown.
  int64_t epoch = 0, epochs = 0;
  /// Steps done in the epoch, 0 when all of its steps are done, and the steps of an epoch.
  int64_t step = 0, steps_per_epoch = 0;
  /// Epochs done, the current one in part: 2.4 within the third, and 3 only once the third has ended.
  double epochs_done = 0;
  /// Optimizer steps done, skipped ones included, and those of a run whose length they are; 0: epochs are.
  int64_t iteration = 0, iterations = 0;
  /// The sums of the epoch; losses.images is 0 when every step was skipped.
  EpochSums sums;
  LossTotals losses;
  /// Seconds until the run's last step; negative: unknown.
  double seconds_left = -1;
  /// Size of the input in evaluations, which grows with that of training (train.grow).
  InputSize evaluation_size;
  /// Learning rate.
  float rate = 0;
  /// Loss scale; 0 without loss scaling.
  float loss_scale = 0;
};

enum class TrainingEnd : uint8_t {
  finished,
  /// `patience` evaluations without a better score.
  no_better,
  /// Stopped on request; the state is saved.
  interrupted,
};

// The events. What they refer to lives as long as the call.

struct RunBegan {
  const TrainingStatus& status;
  /// Whether it continues a run that was saved.
  bool resumed = false;
  /// The epoch of the best evaluation, from 1; 0: none yet.
  int best_epoch = 0;
  /// Its metrics, without curves, confusion matrix and worst images; nullptr: none yet.
  const Metrics* best = nullptr;
  /// Bytes on the device, all of which are allocated, and of the arrays that are saved.
  size_t device_memory = 0;
  uint64_t state = 0;
};

struct BatchLoaded {
  const Batch& batch;
  /// Number among this rank's micro-batches, from 0, those before a resume included.
  int64_t number = 0;
};

struct StepDone {
  const TrainingStatus& status;
};

/// Some images of an evaluation are done.
struct ImagesEvaluated {
  const TrainingStatus& status;
  int64_t done = 0, images = 0;
};

/// The current averaged weights have been evaluated on the validation split.
struct Evaluated {
  const TrainingStatus& status;
  const Metrics& metrics;
  /// Whether the epoch goes on; otherwise it ends with this evaluation.
  bool within_epoch = false;
};

struct EpochEnded {
  const TrainingStatus& status;
  /// The metrics of the epoch; nullptr when it was not evaluated.
  const Metrics* metrics = nullptr;
};

/// The current weights are the best so far, and written.
struct BestFound {
  const TrainingStatus& status;
  const Metrics& metrics;
  /// The run's best epoch, from 1.
  int epoch = 0;
};

struct RunEnded {
  const TrainingStatus& status;
  TrainingEnd end = TrainingEnd::finished;
};

/// An error ends the run, perhaps before it began; what is saved is what was saved before.
struct RunFailed {};

class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;

  /// The name of the observer, for the message that it has failed: "The progress line".
  virtual std::string name() const = 0;

  /// Called before the first step. An observer may refuse a run here alone: what this throws ends it.
  virtual void run_began(const RunBegan&) {}
  virtual void batch_loaded(const BatchLoaded&) {}
  virtual void step_done(const StepDone&) {}
  virtual void images_evaluated(const ImagesEvaluated&) {}
  virtual void evaluated(const Evaluated&) {}
  virtual void epoch_ended(const EpochEnded&) {}
  virtual void best_found(const BestFound&) {}
  virtual void run_ended(const RunEnded&) {}
  virtual void run_failed(const RunFailed&) {}
};

/// The observers of a run. One that throws is reported once and told nothing any more, and the run goes on.
class Observers {
 public:
  explicit Observers(std::vector<TrainingObserver*> observers) : observers_(std::move(observers)) {}

  bool none() const { return observers_.empty(); }
  void begin(const RunBegan& event) const {
    for (TrainingObserver* observer : observers_) observer->run_began(event);
  }
  template <typename Event>
  void tell(void (TrainingObserver::*what)(const Event&), const Event& event) {
    std::erase_if(observers_, [&](TrainingObserver* observer) {
      try {
        (observer->*what)(event);
        return false;
      } catch (...) {
        report(*observer, std::current_exception());
        return true;
      }
    });
  }

 private:
  static void report(const TrainingObserver& observer, const std::exception_ptr& problem);

  std::vector<TrainingObserver*> observers_;
};

}  // namespace brightnet
