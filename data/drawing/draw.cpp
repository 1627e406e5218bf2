#include "data/drawing/draw.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/drawing/typeface.h"
#include "data/image/codecs.h"
#include "data/image/jpeg.h"

namespace brightnet {
namespace {

/// Line widths and text size for a picture: lines of about 1/300 of its side, easily readable text.
struct Pen {
  int line;
  bool is_given;
  /// The height of a capital letter.
  double letters;

  Pen(const cv::Mat& picture, const BoxStyle& style) : line(style.line_width), is_given(line > 0) {
    const double side = std::sqrt(double(picture.rows) * picture.cols);
    if (!is_given) line = std::max(2, static_cast<int>(std::lround(side / 320)));
    letters = std::clamp(side / 70, 8.0, 60.0);
  }

  /// Around a small box a wide line would hide what is in it.
  int line_of(const cv::Rect& box, bool bold) const {
    const int widest = is_given ? line : std::max(1, std::min(box.width, box.height) / 12);
    return std::min(line, widest) + (bold ? 1 : 0);
  }
};

cv::Scalar readable_on(const cv::Scalar& color) {
  const double brightness = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2];
  return brightness > 140 ? cv::Scalar(0, 0, 0) : cv::Scalar(255, 255, 255);
}

/// The box in whole pixels, cut at the picture's border; empty when it is not on the picture.
cv::Rect in_pixels(const cv::Rect2d& box, cv::Size picture) {
  const cv::Rect2d inside = box & cv::Rect2d({0, 0}, cv::Size2d(picture));
  // The condition is negated so that a box with a NaN coordinate is dropped as well.
  if (!(inside.width > 0 && inside.height > 0)) return {};
  const cv::Point corner(static_cast<int>(std::lround(inside.x)), static_cast<int>(std::lround(inside.y)));
  const cv::Point end(static_cast<int>(std::lround(inside.x + inside.width)),
                      static_cast<int>(std::lround(inside.y + inside.height)));
  return {corner, cv::Point(std::max(end.x, corner.x + 1), std::max(end.y, corner.y + 1))};
}

void draw_dashes(cv::Mat& rgb, cv::Point from, cv::Point to, const cv::Scalar& color, int width) {
  const double length = cv::norm(to - from), step = 3 * width + 2;
  const cv::Point2d way = (cv::Point2d(to) - cv::Point2d(from)) / std::max(1.0, length);
  for (double at = 0; at < length; at += 2 * step)
    cv::line(rgb, cv::Point2d(from) + way * at, cv::Point2d(from) + way * std::min(length, at + step), color,
             width);
}

/// Along the border of the box, to both sides of it. (OpenCV's own are a pixel or two wider than they are said to be.)
void draw_frame(cv::Mat& rgb, const cv::Rect& box, const cv::Scalar& color, int width) {
  const int beyond = width / 2;
  const cv::Rect outer(box.x - beyond, box.y - beyond, box.width + 2 * beyond, box.height + 2 * beyond);
  const int right = outer.x + outer.width - width, bottom = outer.y + outer.height - width;
  for (const cv::Rect& side :
       {cv::Rect(outer.x, outer.y, outer.width, width), cv::Rect(outer.x, bottom, outer.width, width),
        cv::Rect(outer.x, outer.y, width, outer.height), cv::Rect(right, outer.y, width, outer.height)}) {
    const cv::Rect inside = side & cv::Rect({0, 0}, rgb.size());
    if (!inside.empty()) rgb(inside).setTo(color);
  }
}

void draw_outline(cv::Mat& rgb, const cv::Rect& box, const DrawnBox& drawn, int width) {
  const int edge = std::max(1, width / 3);
  draw_frame(rgb, box, readable_on(drawn.color), width + 2 * edge);
  if (!drawn.dashed) return draw_frame(rgb, box, drawn.color, width);
  const cv::Point a = box.tl(), b = box.br() - cv::Point(1, 1);
  draw_dashes(rgb, a, {b.x, a.y}, drawn.color, width);
  draw_dashes(rgb, {b.x, a.y}, b, drawn.color, width);
  draw_dashes(rgb, {a.x, b.y}, b, drawn.color, width);
  draw_dashes(rgb, a, {a.x, b.y}, drawn.color, width);
}

/// A tag's place, outside its box if possible: of the places around the box, moved inside the picture, the
/// one that hides least of the tags placed before it and of the objects.
cv::Rect place_tag(const cv::Rect& box, cv::Size tag, cv::Size picture, const std::vector<cv::Rect>& tags,
                   const std::vector<cv::Rect>& boxes, int line) {
  const int left = box.x - line / 2, right = box.x + box.width - tag.width + line / 2;
  const int above = box.y - tag.height - line / 2, below = box.y + box.height + line / 2;
  const cv::Point places[] = {{left, above},
                              {right, above},
                              {left, below},
                              {right, below},
                              {box.x + box.width + line, box.y},
                              {box.x - tag.width - line, box.y},
                              {left + line, box.y + line / 2}};
  cv::Rect best;
  double least = INFINITY;
  for (const cv::Point& place : places) {
    const cv::Rect moved(std::clamp(place.x, 0, std::max(0, picture.width - tag.width)),
                         std::clamp(place.y, 0, std::max(0, picture.height - tag.height)), tag.width,
                         tag.height);
    double hidden = 0;
    for (const cv::Rect& other : tags) hidden += 5.0 * (moved & other).area();
    for (const cv::Rect& other : boxes) hidden += (moved & other).area();
    if (hidden < least) {
      least = hidden;
      best = moved;
    }
  }
  return best;
}

/// How much of a tag would lie over others.
double hidden_share(const cv::Rect& tag, const std::vector<cv::Rect>& others) {
  double hidden = 0;
  for (const cv::Rect& other : others) hidden += (tag & other).area();
  return hidden / std::max(1, tag.area());
}

/// A tag through which the picture is seen, so that it hides no object entirely.
void draw_tag(cv::Mat& rgb, const cv::Rect& place, const DrawnBox& drawn, double letters, int padding) {
  constexpr double cover = 0.72;
  const cv::Rect inside = place & cv::Rect({0, 0}, rgb.size());
  if (inside.empty()) return;
  cv::Mat under = rgb(inside);
  cv::addWeighted(under, 1 - cover, cv::Mat(under.size(), under.type(), drawn.color), cover, 0, under);
  draw_text(rgb, drawn.tag, {static_cast<double>(place.x + padding), place.y + place.height / 2.0}, letters,
            readable_on(drawn.color));
}

/// A tag in the lower left corner, over everything else.
void draw_note(cv::Mat& rgb, const std::string& words, const Pen& pen) {
  const int padding = std::max(2, static_cast<int>(std::lround(pen.letters * 0.35)));
  const cv::Size size(static_cast<int>(std::ceil(text_width(words, pen.letters))) + 2 * padding,
                      static_cast<int>(std::ceil(pen.letters)) + 2 * padding);
  draw_tag(rgb, {cv::Point(0, rgb.rows - size.height), size}, {{}, cv::Scalar(255, 255, 255), words},
           pen.letters, padding);
}

std::string class_name(int class_id, const std::vector<std::string>& names) {
  const bool known = class_id >= 0 && static_cast<size_t>(class_id) < names.size();
  return known ? shown_name(names[class_id], class_id) : fmt::format("class {}", class_id);
}

/// The bytes of a file of this name.
std::string encoded_for(const std::filesystem::path& file, const cv::Mat& rgb) {
  BRIGHTNET_CHECK(rgb.type() == CV_8UC3 && !rgb.empty(), "only 8-bit RGB images are written");
  const std::string ending = lower_case(file.extension().string());
  if (ending == ".jpg" || ending == ".jpeg") {
    constexpr int quality = 95;
    const std::vector<uint8_t> bytes = encode_jpeg(rgb, quality);
    return {bytes.begin(), bytes.end()};
  }
  if (!can_encode_image(file.string())) {
    throw InputError("'" + file.extension().string() + "' is not an image format that can be written",
                     file.string(), "Use .jpg or .png.");
  }
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  std::vector<uint8_t> bytes;
  // PNGs with OpenCV's own setting: a plot takes a third of the time of zlib's level 6, and 1.7 times the bytes.
  BRIGHTNET_CHECK(encode_image(file.extension().string(), bgr, bytes), "an image could not be encoded");
  return {bytes.begin(), bytes.end()};
}

}  // namespace

cv::Scalar class_color(int class_id) {
  // Each is the colour, of those that are neither pale nor dark, that is farthest in CIELAB from all chosen before it:
  // no two are nearer than 36 there. The liveliest come first.
  static const cv::Scalar colors[] = {{36, 143, 242},  {255, 90, 30},  {0, 255, 0},     {255, 0, 255},
                                      {255, 210, 0},   {0, 240, 240},  {150, 45, 180},  {255, 0, 90},
                                      {180, 240, 15},  {0, 75, 255},   {240, 180, 255}, {165, 60, 45},
                                      {135, 240, 135}, {255, 15, 180}, {15, 165, 120},  {225, 165, 105},
                                      {0, 150, 0},     {180, 60, 120}, {150, 165, 0},   {75, 105, 30}};
  return colors[static_cast<size_t>(class_id) % std::size(colors)];
}

void draw_boxes(cv::Mat& rgb, std::span<const DrawnBox> boxes, const BoxStyle& style) {
  const Pen pen(rgb, style);
  const size_t others = boxes.size() - std::min(boxes.size(), most_drawn_boxes);
  boxes = boxes.subspan(others);
  std::vector<cv::Rect> places;
  for (const DrawnBox& drawn : boxes) {
    places.push_back(in_pixels(drawn.box, rgb.size()));
    if (!places.back().empty())
      draw_outline(rgb, places.back(), drawn, pen.line_of(places.back(), drawn.bold));
  }
  std::vector<cv::Rect> tags;
  for (size_t i = boxes.size(); i-- > 0;) {
    if (places[i].empty() || boxes[i].tag.empty() || !style.labels) continue;
    double letters = pen.letters, width = text_width(boxes[i].tag, letters);
    int padding = std::max(2, static_cast<int>(std::lround(letters * 0.35)));
    if (width + 2 * padding > rgb.cols) {
      letters *= std::max(1.0, rgb.cols - 2.0 * padding) / width;
      width = text_width(boxes[i].tag, letters);
    }
    const cv::Size size(static_cast<int>(std::ceil(width)) + 2 * padding,
                        static_cast<int>(std::ceil(letters)) + 2 * padding);
    const cv::Rect tag = place_tag(places[i], size, rgb.size(), tags, places, pen.line);
    if (hidden_share(tag, tags) > 0.5) continue;  // neither it nor those below it could be read
    tags.push_back(tag);
    draw_tag(rgb, tag, boxes[i], letters, padding);
  }
  if (others > 0) draw_note(rgb, fmt::format("… and {} more boxes", others), pen);
}

void draw_detections(cv::Mat& rgb, std::span<const ScoredBox> boxes, const std::vector<std::string>& names,
                     const BoxStyle& style) {
  std::vector<DrawnBox> drawn;
  std::vector<ScoredBox> rising(boxes.begin(), boxes.end());
  std::stable_sort(rising.begin(), rising.end(),
                   [](const ScoredBox& a, const ScoredBox& b) { return a.score < b.score; });
  for (const ScoredBox& box : rising) {
    drawn.push_back({cv::Rect2d(box.x1, box.y1, double{box.x2} - box.x1, double{box.y2} - box.y1),
                     class_color(box.class_id),
                     fmt::format("{} {:.2f}", class_name(box.class_id, names), box.score)});
  }
  draw_boxes(rgb, drawn, style);
}

void draw_truths(cv::Mat& rgb, std::span<const Truth> truths, const std::vector<std::string>& names) {
  std::vector<DrawnBox> drawn;
  for (const Truth& truth : truths) {
    const Box& box = truth.box;
    drawn.push_back({cv::Rect2d((box.x - box.w / 2.0) * rgb.cols, (box.y - box.h / 2.0) * rgb.rows,
                                double{box.w} * rgb.cols, double{box.h} * rgb.rows),
                     class_color(truth.class_id), class_name(truth.class_id, names)});
  }
  draw_boxes(rgb, drawn);
}

cv::Mat with_caption(const cv::Mat& rgb, const std::string& words) {
  const double letters = std::max(9.0, rgb.cols / 46.0);
  const int height = static_cast<int>(std::ceil(letters * 2.4));
  cv::Mat picture(rgb.rows + height, rgb.cols, CV_8UC3, cv::Scalar(255, 255, 255));
  rgb.copyTo(picture(cv::Rect(0, height, rgb.cols, rgb.rows)));
  draw_text(picture, shortened(words, rgb.cols - 4, letters), {2, height / 2.0}, letters, {45, 45, 45});
  return picture;
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
  write_atomically(file, encoded_for(file, rgb));
}

void write_image_unflushed(const std::filesystem::path& file, const cv::Mat& rgb) {
  write_unflushed(file, encoded_for(file, rgb));
}

}  // namespace brightnet
