// Test-time augmentation: an image is seen at several sizes and mirrored as well, and what is found in all of these views is
// merged. It costs as many passes as there are views.
#pragma once

#include <vector>

#include "detect/pipeline.h"

namespace brightnet {

/// The image as it is and mirrored, at its own size, a smaller and a larger one, whose sides are multiples of `stride`. A
/// network that was trained at one size loses more in much smaller views than they find (docs/metrics.md).
std::vector<InferenceView> augmented_views(const InputSize& size, int stride);

/// One box for the boxes of several views, in pixels, that are the same object's: their mean, weighted by their scores, with
/// the mean of the scores over all views, those that did not find it included (weighted boxes fusion, Solovyev et al. 2021,
/// "Weighted boxes fusion: Ensembling boxes from different object detection models", section 3). What then overlaps goes
/// through NMS. Time: boxes x boxes left.
std::vector<ScoredBox> merge_views(std::vector<ScoredBox> boxes, const NmsOptions& nms, int views);

}  // namespace brightnet
