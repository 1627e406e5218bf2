// The policies applied to boxes as written, the same for all formats.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "data/formats/classes.h"
#include "data/formats/labels.h"
#include "data/image/read_image.h"

namespace brightnet {

/// Converts the boxes to pixels of the image as shown: scales fractions, and rotates boxes drawn on the image
/// before its EXIF rotation.
void boxes_to_pixels(LabelledImage& image, const ImageInfo& info, ProblemLog& log);

/// The image's annotations: boxes of classes that are not chosen and boxes without area are dropped, the others are
/// clipped to the image of size `shown`, and duplicates are removed. All of this is logged.
std::vector<Annotation> annotations_of(const LabelledImage& image, const ChosenClasses& classes,
                                       cv::Size shown, ProblemLog& log);

}  // namespace brightnet
