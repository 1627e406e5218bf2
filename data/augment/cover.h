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

/// A rectangle of the input whose sides are `sides` of the input's, each drawn independently, at a place where all of
/// it is inside.
cv::Rect draw_rectangle(Random& random, ValueRange sides, const InputSize& size);

/// The rectangles of a cutout: 1 to cutout_count (DeVries and Taylor 2017; several, as Albumentations' CoarseDropout).
std::vector<cv::Rect> draw_cutout(Random& random, const AugmentOptions& options, const InputSize& size);

/// Boxes under opaque rectangles. A box is dropped when more than `most_covered` of it is covered, or when its visible
/// part is narrower than smallest_box_side. A box whose whole edge is covered shrinks to its visible part; otherwise it
/// keeps its extent.
void cover_boxes(std::vector<Truth>& truths, std::span<const cv::Rect> covers, const InputSize& size,
                 float most_covered);

}  // namespace brightnet
