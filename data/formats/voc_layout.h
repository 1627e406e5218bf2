// How the folder of a Pascal VOC data set is laid out. (private to data/formats/)
#pragma once

#include <filesystem>
#include <string>

#include "data/formats/read.h"

namespace brightnet {

/// Whether a folder has Annotations/ and JPEGImages/.
bool is_voc_folder(const std::filesystem::path& folder);

/// DatasetFormat::recognize of voc: a folder as VOC's, the years in VOCdevkit/, or folders of images with XML files.
std::string recognize_voc(const std::filesystem::path& place, DataOptions& options);

}  // namespace brightnet
