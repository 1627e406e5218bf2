// Metrics as the public interface has them (private to brightnet/).
#pragma once

#include "brightnet/evaluate.h"
#include "detect/evaluate/metrics.h"

namespace brightnet {

Scores scores_of(const Metrics& metrics);

/// evaluate() without what it warns of.
Scores measure(const Weights& weights, const std::string& data, const EvaluationOptions& options);

}  // namespace brightnet
