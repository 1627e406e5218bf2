// Boxes follow pixels: annotations through a placement, clipped to the part of the input where the
// image shows.
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

/// The sides below which a clipped box is dropped, in pixels of the input: less is not an object but an edge.
constexpr float smallest_box_side = 2.0f;

/// Appends what is seen in `part` of each annotation, relative to size × size. A box is dropped when less
/// than `min_visible` of its area is left or a side is under smallest_box_side. Crowds are not trained on.
void place_boxes(const std::vector<Annotation>& annotations, const Placement& placement,
                 const InputPart& part, int size, float min_visible, std::vector<Truth>& truths);

}  // namespace brightnet
