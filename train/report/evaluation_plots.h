// What an evaluation found, as plots: precision and recall, both and F1 over the confidence threshold, the
// confusion matrix. Pictures are RGB, for write_image().
#pragma once

#include <opencv2/core.hpp>

#include "detect/evaluate/metrics.h"

namespace brightnet {

/// Precision over recall at IoU 0.5: a thin line per class (named up to ten classes), and their mean.
cv::Mat plot_precision_recall(const Metrics& metrics);

/// A quantity over the confidence threshold.
enum class OverScore : uint8_t { f1, precision, recall };
/// Draws the curve at IoU 0.5, as plot_precision_recall() does, with the threshold at which the mean F1 of the classes is best.
cv::Mat plot_over_score(const Metrics& metrics, OverScore which);

/// The confusion matrix: counts and, where cells are large enough, shares of the true class, with the
/// background (false alarms and missed objects) apart and in a colour of its own.
cv::Mat plot_confusion(const Metrics& metrics);

}  // namespace brightnet
