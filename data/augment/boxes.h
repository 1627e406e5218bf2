// Maps annotations to the network input and clips them to the visible part of the image in the input.
#pragma once

#include <vector>

#include "core/box.h"
#include "core/input_size.h"
#include "data/augment/options.h"
#include "data/dataset.h"
#include "data/image/homography.h"
#include "data/image/placement.h"

namespace brightnet {

/// A rectangle of the network input, in pixels.
struct InputPart {
  float left = 0, top = 0, right = 0, bottom = 0;
};

/// A clipped box with a smaller side, in pixels of the input, is dropped.
constexpr float smallest_box_side = 2.0f;

/// Appends the visible part of each annotation in `part`, relative to the input. A box is dropped when less
/// than `min_visible` of its area is visible or a side is below smallest_box_side. Crowds are skipped.
void place_boxes(const std::vector<Annotation>& annotations, const Placement& placement,
                 const InputPart& part, const InputSize& size, float min_visible, std::vector<Truth>& truths);

/// Appends the visible part of each annotation in the whole input, however little of its area that is.
void place_boxes(const std::vector<Annotation>& annotations, const Placement& placement,
                 const InputSize& size, std::vector<Truth>& truths);

/// Appends the visible parts for a map that may turn and distort. The box of `rule`, which is larger than the
/// object unless the object has the rule's shape, is cut to what the object's four corners leave visible;
/// min_visible is relative to the area between the corners.
void place_boxes(const std::vector<Annotation>& annotations, const Homography& map, WarpedBoxes rule,
                 const InputPart& part, const InputSize& size, float min_visible, std::vector<Truth>& truths);

/// Clips boxes of the input to a part of it, by the same rules; the area is that of the box as it was.
void clip_boxes(std::vector<Truth>& truths, const InputPart& part, const InputSize& size, float min_visible);

}  // namespace brightnet
