// Recognizes a data set that a folder holds, without a configuration.
#pragma once

#include <filesystem>

#include "data/formats/read.h"

namespace brightnet {

/// All images of the folder as data.train, by its layout:
///   voc    Annotations/ and JPEGImages/
///   kitti  image_2/ and label_2/, or both below training/
///   yolo   any other: label files beside the images or in parallel folders (images/…, labels/…)
/// Throws InputError when it is not a folder.
DataOptions recognize_dataset(const std::filesystem::path& folder);

}  // namespace brightnet
