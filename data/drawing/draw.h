// Boxes on pictures: train_batch*.jpg, val_pred*.jpg and the images that `detect` writes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "core/box.h"

namespace brightnet {

/// A class's colour (RGB): the same in every picture, and clearly different from those of the 19 classes before and after
/// it.
cv::Scalar class_color(int class_id);

/// A box in pixels of the picture, and the words of its tag.
struct DrawnBox {
  cv::Rect2d box;
  cv::Scalar color;
  std::string tag;
  bool dashed = false, bold = false;
};

/// How boxes are drawn.
struct BoxStyle {
  int line_width = 0;  ///< width of a box's lines in pixels; 0: by the size of the image
  bool labels = true;  ///< draw tags with the name and the score
};

/// Draws boxes on an 8-bit RGB image, later ones on top, as far as they are on it. Lines and letters scale with the
/// image, and lines are thinner around what is small; their edges, dark around bright colours and white around dark
/// ones, are seen on any background. Tags are translucent and lie outside their boxes where there is room, beside other
/// tags and within the image; in a crowd a lower box has none. Of more than `most_drawn_boxes` the last are drawn, and
/// the number of the others is written in the corner.
constexpr size_t most_drawn_boxes = 500;
void draw_boxes(cv::Mat& rgb, std::span<const DrawnBox> boxes, const BoxStyle& style = {});

/// Draws boxes with "name 0.87" tags, by rising score, so that better ones are on top.
void draw_detections(cv::Mat& rgb, std::span<const ScoredBox> boxes, const std::vector<std::string>& names,
                     const BoxStyle& style = {});
/// Draws labels, whose boxes are relative to the image, with the names of their classes.
void draw_truths(cv::Mat& rgb, std::span<const Truth> truths, const std::vector<std::string>& names);

/// Returns the picture with a line of words above it.
cv::Mat with_caption(const cv::Mat& rgb, const std::string& words);

/// Arranges images in a grid whose longer side is about `longer_side` pixels, each scaled to fit its cell.
cv::Mat tile(const std::vector<cv::Mat>& images, int longer_side = 2000);

/// Writes an RGB image atomically, in the format of the file extension. Throws InputError when it cannot be
/// written or the extension is unknown.
void write_image(const std::filesystem::path& file, const cv::Mat& rgb);
/// write_image() for one of thousands of files, which is not flushed to the disk (write_unflushed()).
void write_image_unflushed(const std::filesystem::path& file, const cv::Mat& rgb);

}  // namespace brightnet
