// The boxes of a data set at a glance, labels.jpg: how many there are of each class, their places and sizes, and how
// these go together.
#pragma once

#include <opencv2/core.hpp>

#include "data/dataset.h"

namespace brightnet {

/// An RGB plot, for write_image(). Places and sizes are fractions of the image; crowds are left out.
cv::Mat plot_labels(const Dataset& dataset);

}  // namespace brightnet
