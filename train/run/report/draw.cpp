#include "train/run/report/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/error.h"
#include "core/files.h"
#include "train/run/report/letters.h"

namespace brightnet {
namespace {

constexpr int font = cv::FONT_HERSHEY_SIMPLEX;

/// Line widths and text size for a picture: lines of about 1/250 of its side, easily readable text.
struct Pen {
  int line, text_line;
  double text_scale;

  explicit Pen(const cv::Mat& picture) {
    const double side = std::sqrt(double(picture.rows) * picture.cols);
    line = std::max(1, static_cast<int>(std::lround(side / 250)));
    text_scale = std::clamp(side / 1400, 0.35, 4.0);
    text_line = std::max(1, static_cast<int>(std::lround(text_scale * 1.6)));
  }
};

cv::Scalar readable_on(const cv::Scalar& color) {
  const double brightness = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2];
  return brightness > 140 ? cv::Scalar(0, 0, 0) : cv::Scalar(255, 255, 255);
}

/// Draws a tag above the box if there is room, else below its upper edge; moved, and if necessary shrunk, to
/// fit inside the picture.
void draw_tag(cv::Mat& rgb, const cv::Rect& box, const std::string& words, const cv::Scalar& color, Pen pen) {
  const std::string letters = drawable(words);
  int baseline = 0;
  cv::Size size = cv::getTextSize(letters, font, pen.text_scale, pen.text_line, &baseline);
  const int padding = std::max(2, size.height / 4);
  if (size.width + 2 * padding > rgb.cols) {
    pen.text_scale *= static_cast<double>(rgb.cols) / (size.width + 2 * padding);
    pen.text_line = 1;
    size = cv::getTextSize(letters, font, pen.text_scale, pen.text_line, &baseline);
  }
  cv::Rect tag(box.x - pen.line / 2, box.y - size.height - 2 * padding, size.width + 2 * padding,
               size.height + 2 * padding);
  if (tag.y < 0) tag.y = box.y;
  tag.x = std::clamp(tag.x, 0, std::max(0, rgb.cols - tag.width));
  tag.y = std::clamp(tag.y, 0, std::max(0, rgb.rows - tag.height));
  cv::rectangle(rgb, tag, color, cv::FILLED);
  cv::putText(rgb, letters, {tag.x + padding, tag.y + padding + size.height}, font, pen.text_scale,
              readable_on(color), pen.text_line, cv::LINE_AA);
}

void draw_box(cv::Mat& rgb, const cv::Rect2d& box, int class_id, const std::string& tag) {
  const cv::Rect2d inside = box & cv::Rect2d(0, 0, rgb.cols, rgb.rows);
  // Negated so that a box with a NaN coordinate is dropped as well.
  if (!(inside.width > 0 && inside.height > 0)) return;
  const Pen pen(rgb);
  const cv::Scalar color = class_color(class_id);
  const cv::Point corner(static_cast<int>(std::lround(inside.x)), static_cast<int>(std::lround(inside.y)));
  const cv::Rect pixels(corner, cv::Point(static_cast<int>(std::lround(inside.x + inside.width)),
                                          static_cast<int>(std::lround(inside.y + inside.height))));
  cv::rectangle(rgb, pixels, color, pen.line, pen.line > 1 ? cv::LINE_AA : cv::LINE_8);
  if (!tag.empty()) draw_tag(rgb, pixels, tag, color, pen);
}

std::string class_name(int class_id, const std::vector<std::string>& names) {
  const bool known = class_id >= 0 && static_cast<size_t>(class_id) < names.size();
  return known ? drawable_name(names[class_id], class_id) : fmt::format("class {}", class_id);
}

}  // namespace

cv::Scalar class_color(int class_id) {
  // Multiples of the golden ratio spread the hues evenly for any number of classes; brightness and
  // saturation alternate.
  const double hue = std::fmod(0.58 + 0.618033988749895 * class_id, 1.0) * 6;
  const double value = class_id % 3 == 0 ? 0.95 : class_id % 3 == 1 ? 0.8 : 0.65;
  const double saturation = class_id % 2 == 0 ? 0.85 : 0.65;
  const auto channel = [&](double offset) {
    const double k = std::fmod(offset + hue, 6.0);
    return std::round(255 * value * (1 - saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0)));
  };
  return {channel(5), channel(3), channel(1)};
}

void draw_detections(cv::Mat& rgb, std::span<const ScoredBox> boxes, const std::vector<std::string>& names) {
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return boxes[a].score < boxes[b].score; });
  for (size_t i : order) {
    const ScoredBox& box = boxes[i];
    draw_box(rgb, cv::Rect2d(box.x1, box.y1, double{box.x2} - box.x1, double{box.y2} - box.y1), box.class_id,
             fmt::format("{} {:.2f}", class_name(box.class_id, names), box.score));
  }
}

void draw_truths(cv::Mat& rgb, std::span<const Truth> truths, const std::vector<std::string>& names) {
  for (const Truth& truth : truths) {
    const Box& box = truth.box;
    draw_box(rgb,
             cv::Rect2d((box.x - box.w / 2.0) * rgb.cols, (box.y - box.h / 2.0) * rgb.rows,
                        double{box.w} * rgb.cols, double{box.h} * rgb.rows),
             truth.class_id, class_name(truth.class_id, names));
  }
}

cv::Mat tile(const std::vector<cv::Mat>& images, int longer_side) {
  if (images.empty()) return {};
  int width = 1, height = 1;
  for (const cv::Mat& image : images) {
    width = std::max(width, image.cols);
    height = std::max(height, image.rows);
  }
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(images.size()))));
  const int rows = (static_cast<int>(images.size()) + columns - 1) / columns;
  constexpr int gap = 4;
  const double scale = std::min(
      1.0, static_cast<double>(longer_side) / std::max(columns * (width + gap), rows * (height + gap)));
  const cv::Size cell(std::max(1, static_cast<int>(width * scale)),
                      std::max(1, static_cast<int>(height * scale)));
  cv::Mat sheet(rows * (cell.height + gap) - gap, columns * (cell.width + gap) - gap, CV_8UC3,
                cv::Scalar(255, 255, 255));
  for (size_t i = 0; i < images.size(); ++i) {
    const cv::Mat& image = images[i];
    const double fit =
        std::min(static_cast<double>(cell.width) / image.cols, static_cast<double>(cell.height) / image.rows);
    cv::Mat scaled;
    cv::resize(image, scaled,
               cv::Size(std::clamp(static_cast<int>(std::lround(image.cols * fit)), 1, cell.width),
                        std::clamp(static_cast<int>(std::lround(image.rows * fit)), 1, cell.height)),
               0, 0, fit < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
    const int x = static_cast<int>(i) % columns * (cell.width + gap) + (cell.width - scaled.cols) / 2;
    const int y = static_cast<int>(i) / columns * (cell.height + gap) + (cell.height - scaled.rows) / 2;
    scaled.copyTo(sheet(cv::Rect(x, y, scaled.cols, scaled.rows)));
  }
  return sheet;
}

void write_image(const std::filesystem::path& file, const cv::Mat& rgb) {
  BRIGHTNET_CHECK(rgb.type() == CV_8UC3 && !rgb.empty(), "only 8-bit RGB images are written");
  if (!cv::haveImageWriter(file.string())) {
    throw InputError("'" + file.extension().string() + "' is not an image format that can be written",
                     file.string(), "Use .jpg or .png.");
  }
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  std::vector<uchar> bytes;
  BRIGHTNET_CHECK(cv::imencode(file.extension().string(), bgr, bytes), "an image could not be encoded");
  write_atomically(file, std::string(bytes.begin(), bytes.end()));
}

}  // namespace brightnet
