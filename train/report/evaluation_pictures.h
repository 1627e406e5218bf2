// The pictures of an evaluation, of a run and of `brightnet eval`.
#pragma once

#include <array>
#include <functional>
#include <string>

#include <opencv2/core.hpp>

#include "detect/evaluate/metrics.h"

namespace brightnet {

using UsePicture = std::function<void(const std::string& name, const cv::Mat& rgb)>;

/// The names of the plots of an evaluation.
inline constexpr std::array plot_names{"pr_curve.png", "f1_curve.png", "precision_curve.png",
                                       "recall_curve.png", "confusion_matrix.png"};
void plot_evaluation(const Metrics& metrics, const UsePicture& use);

/// A sheet of the worst images with the verdict on each detection. An image that cannot be read any more is
/// left out; the sheet is empty when none can.
cv::Mat picture_worst(const Dataset& dataset, const Metrics& metrics, size_t sheet);
/// How many sheets so many images take, and the name of one: "val_pred0.jpg".
size_t worst_sheets(size_t images);
std::string worst_name(const std::string& prefix, size_t sheet);

}  // namespace brightnet
