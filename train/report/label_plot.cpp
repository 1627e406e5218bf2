#include "train/report/label_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "data/drawing/axes.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"

namespace brightnet {
namespace {

/// Fractions of the image: the centre and the size.
constexpr size_t variables = 4;
constexpr std::array<const char*, variables> names{"x", "y", "width", "height"};
struct LabelledShape {
  std::array<double, variables> values{};
  int class_id = 0;
};

constexpr double letters = 9;

std::vector<LabelledShape> shapes_of(const Dataset& dataset) {
  std::vector<LabelledShape> shapes;
  for (const ImageRecord& image : dataset.images) {
    const double w = image.width, h = image.height;
    for (const Annotation& box : image.annotations) {
      if (box.crowd) continue;
      shapes.push_back({{(box.x1 + box.x2) / 2 / w, (box.y1 + box.y2) / 2 / h, (box.x2 - box.x1) / w,
                         (box.y2 - box.y1) / h},
                        box.class_id});
    }
  }
  return shapes;
}

int bin_of(double value, int bins) {
  return std::clamp(static_cast<int>(value * bins), 0, bins - 1);
}

/// White for none to dark blue for the most; by the root, so that what is rare shows beside what is frequent.
cv::Scalar density_color(int count, int most) {
  const double share = std::sqrt(static_cast<double>(count) / std::max(1, most));
  const cv::Scalar pale(214, 229, 244), dark(8, 48, 107);
  return count == 0 ? cv::Scalar(255, 255, 255) : pale * (1 - share) + dark * share;
}

void draw_frame(Canvas& canvas, const cv::Rect2d& area, const std::string& below, const std::string& beside) {
  canvas.frame(area, gray, 1);
  canvas.text(below, {area.x + area.width / 2, area.br().y + 14}, letters, ink, Align::center);
  canvas.text_upward(beside, {area.x - 12, area.y + area.height / 2}, letters, ink);
}

/// How many boxes have which values of two variables, both from 0 to 1. y counts from the top, as in the image; all other
/// variables from below.
void draw_pairs(Canvas& canvas, const cv::Rect2d& area, const std::vector<LabelledShape>& shapes,
                size_t across, size_t up, int bins) {
  std::vector<int> counts(static_cast<size_t>(bins * bins), 0);
  for (const LabelledShape& shape : shapes) {
    const int column = bin_of(shape.values[across], bins), row = bin_of(shape.values[up], bins);
    ++counts[(up == 1 ? row : bins - 1 - row) * bins + column];
  }
  const int most = *std::max_element(counts.begin(), counts.end());
  const double side_x = area.width / bins, side_y = area.height / bins;
  for (int i = 0; i < bins * bins; ++i) {
    if (const int count = counts[i]; count > 0)
      canvas.fill({area.x + i % bins * side_x, area.y + i / bins * side_y, side_x, side_y},
                  density_color(count, most));
  }
  draw_frame(canvas, area, names[across], names[up]);
}

/// How many boxes have which value of a variable.
void draw_histogram(Canvas& canvas, const cv::Rect2d& area, const std::vector<LabelledShape>& shapes,
                    size_t variable, int bins) {
  std::vector<int> counts(static_cast<size_t>(bins), 0);
  for (const LabelledShape& shape : shapes) ++counts[bin_of(shape.values[variable], bins)];
  const int most = std::max(1, *std::max_element(counts.begin(), counts.end()));
  const double side = area.width / bins;
  for (int i = 0; i < bins; ++i) {
    const double height = area.height * counts[i] / most;
    canvas.fill({area.x + i * side, area.br().y - height, side, height}, density_color(1, 2));
  }
  draw_frame(canvas, area, names[variable], "");
}

void draw_classes(Canvas& canvas, const cv::Rect2d& area, const std::vector<LabelledShape>& shapes,
                  const std::vector<std::string>& classes) {
  constexpr size_t most_named = 40, most_counted = 16;
  std::vector<int64_t> counts(classes.size(), 0);
  for (const LabelledShape& shape : shapes) ++counts.at(shape.class_id);
  const auto most =
      static_cast<double>(std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end())));
  const double each = area.width / classes.size();
  for (size_t i = 0; i < classes.size(); ++i) {
    const int id = static_cast<int>(i);
    const double left = area.x + i * each, middle = left + each / 2;
    const double height = (area.height - 18) * counts[i] / most;
    canvas.fill({left + 0.1 * each, area.br().y - height, 0.8 * each, height}, class_color(id));
    if (classes.size() <= most_counted)
      canvas.text(std::to_string(counts[i]), {middle, area.br().y - height - 9}, letters, ink, Align::center);
    if (classes.size() <= most_named) {
      canvas.text_upward(
          shortened(shown_name(classes[i], id), 82 * Canvas::density, letters * Canvas::density),
          {middle, area.br().y + 8}, letters, ink, Align::right);
    }
  }
  canvas.line({area.x, area.br().y}, area.br(), gray, 1);
}

/// Boxes laid on each other by their centres, some of very many.
void draw_outlines(Canvas& canvas, const cv::Rect2d& area, const std::vector<LabelledShape>& shapes) {
  constexpr size_t most = 1000;
  const size_t step = (shapes.size() + most - 1) / most;
  const cv::Point2d middle = (area.tl() + area.br()) / 2;
  for (size_t i = 0; i < shapes.size(); i += step) {
    const double w = shapes[i].values[2] * area.width, h = shapes[i].values[3] * area.height;
    canvas.frame({middle.x - w / 2, middle.y - h / 2, w, h}, class_color(shapes[i].class_id), 0.7);
  }
  draw_frame(canvas, area, "boxes around one centre, in the image's frame", "");
}

}  // namespace

cv::Mat plot_labels(const Dataset& dataset) {
  const std::vector<LabelledShape> shapes = shapes_of(dataset);
  Canvas canvas(1560, 860);
  canvas.text(fmt::format("{} of {} in {}", counted(shapes.size(), "box", "boxes"),
                          counted(dataset.classes.size(), "class", "classes"),
                          counted(dataset.images.size(), "training image", "training images")),
              {50, 26}, 12, ink, Align::left, true);
  if (shapes.empty()) return canvas.finish();
  constexpr double side = 320, top = 50, below = 494;
  draw_classes(canvas, {50, top, side, side}, shapes, dataset.classes);
  draw_outlines(canvas, {440, top, side, side}, shapes);
  draw_pairs(canvas, {50, below, side, side}, shapes, 0, 1, 50);
  draw_pairs(canvas, {440, below, side, side}, shapes, 2, 3, 50);
  constexpr double part = 150, gap = 38;
  for (size_t up = 0; up < variables; ++up) {
    for (size_t across = 0; across <= up; ++across) {
      const cv::Rect2d area(812 + across * (part + gap), top + up * (part + gap + 17), part, part);
      across == up ? draw_histogram(canvas, area, shapes, up, 30)
                   : draw_pairs(canvas, area, shapes, across, up, 30);
    }
  }
  return canvas.finish();
}

}  // namespace brightnet
