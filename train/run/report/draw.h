// Boxes on pictures: train_batch*.jpg, val_pred*.jpg and what `detect` writes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "core/box.h"
#include "train/evaluate/metrics.h"

namespace brightnet {

/// A colour (RGB) for a class: the same in every picture and plot, and as different as can be from those of
/// the classes near it.
cv::Scalar class_color(int class_id);

/// Draws boxes with "name 0.87" tags on an 8-bit RGB image. Lines and letters grow with the image; a tag that
/// would leave the image is moved inside. Worse scores are drawn first, so that better ones lie on top.
void draw_detections(cv::Mat& rgb, std::span<const ScoredBox> boxes, const std::vector<std::string>& names);
/// The same for labels, without scores; boxes relative to the image.
void draw_truths(cv::Mat& rgb, std::span<const Truth> truths, const std::vector<std::string>& names);

/// Puts images side by side in a grid of about the given longer side in pixels, each scaled to fit its cell.
cv::Mat tile(const std::vector<cv::Mat>& images, int longer_side = 1600);

/// Writes an RGB image atomically, in the format that the name's ending says. Throws InputError when the
/// place cannot be written or the ending is unknown.
void write_image(const std::filesystem::path& file, const cv::Mat& rgb);

}  // namespace brightnet
