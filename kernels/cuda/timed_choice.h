// Choosing the fastest of several ways to do the same work by timing them, within a limit for the whole process: a
// network has some hundred passes, each with up to forty engines, and training is to begin within a minute.
#pragma once

#include <functional>
#include <vector>

#include "core/clock.h"

namespace brightnet::cuda {

/// A way to do the work, such as an engine of cuDNN.
struct Candidate {
  bool compiled = false;  ///< is compiled for the trial: a second or so, whether or not it succeeds
  /// Milliseconds of a run; negative when it cannot do the work. A candidate that takes more than `hopeless`
  /// is run no more often than it takes to know that.
  std::function<float(float hopeless)> time;
};

/// The first that can do the work, for choices that are to be the same in every run; -1 when none can.
/// `compiled`: whether it may be one that is compiled.
int first_that_runs(const std::vector<Candidate>& candidates, bool compiled = true);

/// The seconds that a process spends on timing.
class TimingBudget {
 public:
  using Clock = std::function<double()>;
  explicit TimingBudget(double seconds, Clock now = seconds_now) : left_(seconds), now_(std::move(now)) {}

  struct Choice {
    int index = -1;  ///< -1 when none of the candidates can do the work
    bool timed = false;
  };
  /// The fastest of the candidates, the most promising of which come first. It is given a hundredth of what is left,
  /// so that later choices (other layers, other input sizes) are timed too, and no more than ten thousand runs of the
  /// fastest so far take: a pass of microseconds repays no long search. Two that can do the work are timed even
  /// then. When nothing is left, it is the first that can do the work.
  Choice choose(const std::vector<Candidate>& candidates);

  double left() const { return left_; }

 private:
  int fastest(const std::vector<Candidate>& candidates) const;

  double left_;
  Clock now_;
};

}  // namespace brightnet::cuda
