// The evaluations of a run: the averaged network over the validation split, the scores that decide which
// weights are the best, and how long a better one may stay away.
#pragma once

#include <optional>
#include <vector>

#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/evaluate/evaluate.h"
#include "train/loop/interrupt.h"
#include "train/run/progress.h"

namespace brightnet {

class Validation {
 public:
  /// All of these outlive it.
  Validation(const RunConfig& config, const Model& model, const Dataset& dataset, Communicator& communicator);

  /// Whether this epoch (from 1) ends with an evaluation; the last one always does.
  bool due(int64_t epoch, bool last) const;
  /// Evaluates this network, every rank a part of the images. All ranks get the same metrics, or none when a
  /// signal came to any of them.
  std::optional<Metrics> run(Network& network, const Interrupt& interrupt);
  /// Notes in `progress` the score of the epoch that it has just ended. True when it is the best so far.
  bool record_score(const Metrics& metrics, Progress& progress);
  /// Whether a better score has stayed away for too many evaluations.
  bool out_of_patience(const Progress& progress) const;

  /// Of the last evaluation in this process.
  const std::optional<Metrics>& last() const { return last_; }
  /// Of the best evaluation of the run; none before the first.
  const std::optional<Metrics>& best() const { return best_; }
  /// The run goes on and this was its best.
  void resume(const std::optional<Metrics>& best) { best_ = best; }
  /// What the last evaluation found in the split's first images; complete on rank 0.
  const std::vector<std::vector<ScoredBox>>& pictured() const { return pictured_; }

 private:
  void gather_pictured();

  const RunConfig& config_;
  const Model& model_;
  const Dataset& dataset_;
  Communicator& communicator_;
  std::optional<Metrics> last_, best_;
  std::vector<std::vector<ScoredBox>> pictured_;
};

}  // namespace brightnet
