// Rectangles that hide parts of a sample: those of cutout and cutmix.
#pragma once

#include <span>
#include <vector>

#include <opencv2/core.hpp>

#include "core/box.h"
#include "core/input_size.h"
#include "core/random.h"
#include "data/augment/options.h"

namespace brightnet {

/// A rectangle of the input whose sides are `sides` of the input's, each drawn on its own, at a
/// place where all of it is inside.
cv::Rect draw_rectangle(Random& random, ValueRange sides, const InputSize& size);

/// The rectangles of a cutout: 1 to cutout_count (DeVries and Taylor 2017; several, as in Albumentations'
/// CoarseDropout).
std::vector<cv::Rect> draw_cutout(Random& random, const AugmentOptions& options, const InputSize& size);

/// Boxes under opaque rectangles. One of which more than `most_covered` is covered, or whose rest is narrower
/// than smallest_box_side, is dropped; of one that is covered from side to side at an end, the rest remains.
void cover_boxes(std::vector<Truth>& truths, std::span<const cv::Rect> covers, const InputSize& size,
                 float most_covered);

}  // namespace brightnet
