// Test-time augmentation: an image is seen at several sizes and mirrored as well, and what is found in all of these views is
// merged by NMS. It costs as many passes as there are views.
#pragma once

#include <span>
#include <vector>

#include "detect/pipeline.h"

namespace brightnet {

/// The image as it is and mirrored, at its own size and at smaller ones whose sides are multiples of `stride`.
std::vector<InferenceView> augmented_views(const InputSize& size, int stride);

/// What NMS leaves of the boxes that were found in the views of one width x height image.
std::vector<ScoredBox> merge_views(std::span<const ScoredBox> boxes, const NmsOptions& nms, int width,
                                   int height);

}  // namespace brightnet
