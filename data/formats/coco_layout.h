// Which files of a folder are a COCO data set. (private to data/formats/)
#pragma once

#include <filesystem>
#include <string>

#include "data/formats/read.h"

namespace brightnet {

/// DatasetFormat::recognize of COCO: a JSON of annotations, or a folder with one.
std::string recognize_coco(const std::filesystem::path& place, DataOptions& options);

}  // namespace brightnet
