// Images with their ground truth beside the detections and the verdict on each: val_pred*.jpg.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "detect/evaluate/verdicts.h"

namespace brightnet {

/// "2 missed, 1 false alarm", or "all correct".
std::string verdict_words(const ImageVerdicts& verdicts);

/// One image of a data set, twice and side by side below its file's name: the labels left, the detections of
/// at least the confidence threshold (of more than 50 the surest) and the missed objects right. `image` is RGB, as
/// read_image() gives it.
cv::Mat picture_verdicts(const cv::Mat& image, const ImageRecord& record, std::span<const ScoredBox> boxes,
                         const VerdictOptions& options, const std::vector<std::string>& names);

/// Pictures of picture_verdicts() on one sheet, with a legend.
cv::Mat verdict_sheet(const std::vector<cv::Mat>& pictures, const VerdictOptions& options);

}  // namespace brightnet
