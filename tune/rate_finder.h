// Finds a learning rate: some hundred steps of a run while the rate grows from hardly any to far too much.
// Nothing is saved: no run begins.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "train/setup/preparation.h"
#include "tune/rate_rule.h"

namespace brightnet {

struct RateSweep {
  double low = 1e-6, high = 1;
  int steps = 150;
};

/// Prepares the run of this request for a sweep: one input size, no average of the weights, and in the place of
/// simota an assignment whose losses can be compared. Creates no folder.
Preparation prepare_sweep(const RunRequest& request, const std::string& device);

/// Steps of this run, one a rate, until the loss has diverged or a stop is requested. Changes its parameters.
std::vector<RatePoint> sweep_rates(Preparation& run, const RateSweep& sweep,
                                   const std::stop_token& stop = {});

/// A table of about `rows` points.
std::string rates_table(const std::vector<RatePoint>& points, int rows);
/// A CSV table with the columns rate, loss and smoothed: one row a step.
std::string rates_csv(const std::vector<RatePoint>& points);
/// The losses over the rate, with the suggestion. RGB, for write_image().
cv::Mat plot_rates(const std::vector<RatePoint>& points, const std::optional<RateSuggestion>& suggestion);

}  // namespace brightnet
