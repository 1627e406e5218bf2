// What a sweep over learning rates says (Smith 2017, §3.3): a pure function of the curve of losses.
#pragma once

#include <optional>
#include <vector>

namespace brightnet {

/// A step of the sweep.
struct RatePoint {
  double rate = 0;
  double loss = 0;      ///< loss of the step's batch, before its update, over that batch's first loss
  double smoothed = 0;  ///< smoothed loss, set by smooth_losses()
};

/// The rate of step `step` of `steps`: from `low` to `high` by a constant factor.
double sweep_rate(double low, double high, int step, int steps);

/// Sets `smoothed` to an average of the losses so far, whose weights fall by 0.9 a step. It is the average of
/// logarithms: at the start the loss of a detector falls by orders of magnitude.
void smooth_losses(std::vector<RatePoint>& points);

/// Whether the sweep is over: the last loss is not finite, or its smoothed value is 4 times the least.
bool has_diverged(const std::vector<RatePoint>& points);

struct RateSuggestion {
  double rate = 0;     ///< two significant digits
  double minimum = 0;  ///< the rate where the smoothed loss was least
};

/// A third of the rate at which the smoothed loss is least: larger ones begin to undo what was learned.
/// None when the loss never falls by a tenth.
std::optional<RateSuggestion> suggest_rate(const std::vector<RatePoint>& points);

}  // namespace brightnet
