// Maps annotations through a placement and clips them to the visible part of the image in the input.
#pragma once

#include <vector>

#include "core/box.h"
#include "data/dataset.h"
#include "data/image/placement.h"

namespace brightnet {

/// A rectangle of the network input, in pixels.
struct InputPart {
  float left = 0, top = 0, right = 0, bottom = 0;
};

/// A clipped box with a smaller side, in pixels of the input, is dropped.
constexpr float smallest_box_side = 2.0f;

/// Appends the visible part of each annotation in `part`, relative to size × size. A box is dropped when less
/// than `min_visible` of its area is visible or a side is below smallest_box_side. Crowds are skipped.
void place_boxes(const std::vector<Annotation>& annotations, const Placement& placement,
                 const InputPart& part, int size, float min_visible, std::vector<Truth>& truths);

}  // namespace brightnet
