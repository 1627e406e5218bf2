// Looking for objects in images as people have them: one file or a folder, some of which may not decode.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "train/inference.h"
#include "train/metrics.h"
#include "train/nms.h"

namespace brightnet {

/// The images that `source` means: itself, or those of the folder in the order of their names. Throws
/// InputError when it does not exist, or is a folder without images.
std::vector<std::filesystem::path> find_images(const std::filesystem::path& source);

struct FoundObjects {
  std::filesystem::path file;
  cv::Mat image;  ///< 8-bit RGB, the sink's to draw on
  std::vector<ScoredBox> boxes;
};

struct SkippedImage {
  std::filesystem::path file;
  std::string reason;
};

/// Runs the network over the images, a batch at a time, and hands each result to `sink` in order. An image
/// that does not decode is skipped; the list of those is returned.
std::vector<SkippedImage> detect(InferenceNetwork& inference,
                                 const std::vector<std::filesystem::path>& images, const NmsOptions& nms,
                                 const std::function<void(FoundObjects&)>& sink);

}  // namespace brightnet
