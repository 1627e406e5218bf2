// What is done with boxes as they were written, the same for all formats.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "data/formats/labels.h"
#include "data/image/read_image.h"

namespace brightnet {

/// Brings the boxes into pixels of the image as it is shown: fractions are multiplied out, and boxes drawn on
/// the image before its EXIF rotation are turned with it.
void boxes_to_pixels(LabelledImage& image, const ImageInfo& info, ProblemLog& log);

/// The image's annotations: boxes without area are dropped, the others are clipped to the image of size
/// `shown`, and the same object is kept once. All of it is logged.
std::vector<Annotation> annotations_of(const LabelledImage& image, cv::Size shown, ProblemLog& log);

}  // namespace brightnet
