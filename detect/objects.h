// Objects in the pixels of a picture, from what a network found in its input.
#pragma once

#include <vector>

#include "core/box.h"
#include "data/image/placement.h"
#include "detect/nms.h"

namespace brightnet {

/// Converts a network's candidates to objects of the width × height image shown in its input, best first: NMS
/// in coordinates relative to the image, as in darknet, then pixels. Boxes may extend beyond the image, or be
/// outside it.
std::vector<ScoredBox> objects_in_image(std::vector<Detection> candidates, const NmsOptions& nms, int width,
                                        int height, const InputFit& fit);

/// Clips the boxes to a width × height image and drops those outside it.
std::vector<ScoredBox> cut_at_border(std::vector<ScoredBox> boxes, int width, int height);

}  // namespace brightnet
