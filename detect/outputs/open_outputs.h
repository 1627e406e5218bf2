// Which outputs `detect` was asked for, and that they replace nothing of the user's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "brightnet/detect.h"
#include "detect/outputs/output.h"
#include "detect/sources/source.h"

namespace brightnet {

/// Images with boxes are the default output when no other is requested.
bool writes_pictures(const DetectionOptions& options);
BoxStyle box_style(const DetectionOptions& options);
/// The folder for pictures, and that for crops in it.
std::filesystem::path pictures_folder(const DetectionOptions& options);
std::filesystem::path crops_folder(const DetectionOptions& options);

/// Throws InputError for options without effect.
void refuse_idle_outputs(const DetectionOptions& options);

/// Throws InputError when outputs would be written among the input images or their labels, would replace an input, or
/// existing files that `detect` did not write.
std::vector<std::unique_ptr<DetectionOutput>> open_outputs(const DetectionOptions& options,
                                                           const Source& source,
                                                           const std::vector<std::string>& classes);

}  // namespace brightnet
