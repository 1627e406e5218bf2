// A run's evaluations: the averaged network on the validation split, the score that selects the best weights,
// and early stopping.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "detect/evaluate/evaluate.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/run/progress.h"

namespace brightnet {

/// Called with the number of images that have been evaluated, over all ranks, and of all images.
using EvaluationProgress = std::function<void(int64_t done, int64_t images)>;

/// Inputs of the network that an evaluation of these images has: one an image, or all its tiles.
int64_t evaluated_images(const Dataset& dataset, const TileOptions& tiles);

class Validation {
 public:
  /// All arguments outlive it.
  Validation(const RunConfig& config, const Model& model, const Dataset& dataset, Communicator& communicator,
             EvaluationProgress progress = {});

  /// Whether this epoch (from 1) ends with an evaluation; the last one always does.
  bool due(int64_t epoch, bool last) const;
  /// Evaluates this network, every rank on its part of the images. All ranks get the same metrics, or none
  /// when any of them was asked to stop.
  std::optional<Metrics> run(Network& network, const std::stop_token& stop = {});
  /// Evaluates as run() does, without becoming last(): for parameters that are not the run's current ones.
  std::optional<Metrics> measure(Network& network, const std::stop_token& stop);
  /// The metrics of other images. An error of one rank is a SharedError of all.
  std::optional<Metrics> measure(Network& network, const Dataset& images, const std::stop_token& stop);
  /// The metric that the run wants to be best by (evaluate.best_by), of one evaluation.
  double score(const Metrics& metrics) const;
  /// Records in `progress` the score of the epoch that has just ended, or is going on: its metric, averaged
  /// with those of the evaluations before (evaluate.smooth), so that one lucky evaluation does not decide.
  /// Lists it if it is among the train.average best. True when it is the best so far.
  bool record_score(const Metrics& metrics, Progress& progress);
  /// Forgets the scores so far: those that follow are of another input size, and not comparable.
  void begin_anew(Progress& progress);
  /// Whether train.patience evaluations have passed without a better score.
  bool out_of_patience(const Progress& progress) const;

  /// Metrics of the last evaluation in this process.
  const std::optional<Metrics>& last() const { return last_; }
  /// Metrics of the best evaluation of the run; none before the first.
  const std::optional<Metrics>& best() const { return best_; }
  /// Resumes a run whose best evaluation was this.
  void resume(const std::optional<Metrics>& best) { best_ = best; }

 private:
  std::optional<Metrics> measure(Network& network, const Dataset& images, const std::stop_token& stop,
                                 bool share_errors);

  const RunConfig& config_;
  const Model& model_;
  const Dataset& dataset_;
  Communicator& communicator_;
  EvaluationProgress progress_;
  std::optional<Metrics> last_, best_;
};

}  // namespace brightnet
