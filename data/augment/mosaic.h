// Mosaic (YOLOv4, Bochkovskiy et al. 2020, §3.4): four images meet at a random centre, one per quadrant.
#pragma once

#include <opencv2/core.hpp>

#include "core/input_size.h"
#include "core/random.h"
#include "data/image/homography.h"
#include "data/image/placement.h"

namespace brightnet {

/// Minimum distance of the centre from a border, as a fraction of the input (darknet's min_offset).
constexpr float mosaic_border = 0.2f;

/// x uniform in [0.2, 0.8] · width, y in [0.2, 0.8] · height, whole pixels.
cv::Point draw_mosaic_centre(Random& random, const InputSize& size);

/// The quadrant with this index: upper left, upper right, lower left, lower right.
cv::Rect mosaic_quadrant(int index, cv::Point centre, const InputSize& size);

/// Moves an image that was placed for the whole input so that the crop's inner corner is at the centre: the
/// upper left quadrant shows the crop's lower right part, and so on, at the scale that the image would have
/// without mosaic. Where the crop extends beyond the image, the image's edge replaces the corner, so that no
/// border shows along the seams.
Placement move_to_quadrant(Placement placement, int image_width, int image_height, int index,
                           cv::Point centre, const InputSize& size);

/// Moves an image whose map may turn or distort it. One that stands askew may leave the crop's inner corner
/// empty: the image's first point on the way from there to the middle of the crop then replaces it.
Homography move_to_quadrant(const Homography& map, int image_width, int image_height, int index,
                            cv::Point centre, const InputSize& size);

}  // namespace brightnet
