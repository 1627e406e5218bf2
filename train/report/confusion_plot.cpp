#include <algorithm>

#include <fmt/format.h>

#include "data/drawing/axes.h"
#include "data/drawing/typeface.h"
#include "train/report/evaluation_plots.h"

namespace brightnet {
namespace {

/// White for 0 to dark for 1: blue among the classes, brown for the background.
cv::Scalar heat(double share, bool background) {
  static const cv::Scalar blue[] = {
      {255, 255, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}};
  static const cv::Scalar brown[] = {
      {255, 252, 247}, {253, 216, 170}, {245, 160, 90}, {205, 95, 25}, {110, 45, 5}};
  const cv::Scalar* stops = background ? brown : blue;
  const double at = std::clamp(share, 0.0, 1.0) * 4;
  const int i = std::min(3, static_cast<int>(at));
  return stops[i] * (1 - (at - i)) + stops[i + 1] * (at - i);
}

/// Whether white is easier to read on it than black.
bool is_dark(const cv::Scalar& color) {
  return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2] < 135;
}

/// With more classes a cell would have less than two pixels, and the plot more than a page.
constexpr int most_classes = 500;

/// Where the matrix and its parts lie.
struct Layout {
  int shown;  ///< number of classes shown
  int size;   ///< rows and columns, the background included
  double cell, gap, left, top = 92, below;
  bool names, numbers;

  explicit Layout(const ConfusionMatrix& matrix, double longest_name)
      : shown(std::min(matrix.classes, most_classes)),
        size(shown + 1),
        cell(std::clamp(820.0 / size, 1.0, 92.0)) {
    names = cell >= 10;
    numbers = cell >= 24;
    gap = std::clamp(cell * 0.12, 2.0, 8.0);
    left = names ? 54 + std::clamp(longest_name, 90.0, 150.0) : 90;
    below = names ? left - 6 : 90;
  }
  /// The class of a row or column; the last one is the background.
  int class_of(int i, const ConfusionMatrix& matrix) const { return i == shown ? matrix.classes : i; }
  double letters() const { return std::clamp(cell * 0.5, 5.0, 10.0); }
  double side() const { return cell * size + gap; }
  /// The offset of a row or column; the background is set apart from the classes.
  double at(int i) const { return i * cell + (i == size - 1 ? gap : 0); }
  cv::Rect2d box(int predicted, int truth) const {
    return {left + at(truth), top + at(predicted), cell, cell};
  }
};

struct Totals {
  std::vector<int64_t> predicted, truth;
  explicit Totals(const ConfusionMatrix& matrix)
      : predicted(static_cast<size_t>(matrix.classes + 1)), truth(predicted) {
    for (int p = 0; p <= matrix.classes; ++p) {
      for (int t = 0; t <= matrix.classes; ++t) {
        predicted[p] += matrix.at(p, t);
        truth[t] += matrix.at(p, t);
      }
    }
  }
};

void draw_cell(Canvas& canvas, const Layout& layout, const ConfusionMatrix& matrix, const Totals& totals,
               int row, int column) {
  const int predicted = layout.class_of(row, matrix), truth = layout.class_of(column, matrix);
  const bool extra = truth == matrix.classes, background = extra || predicted == matrix.classes;
  const cv::Rect2d box = layout.box(row, column);
  if (extra && predicted == matrix.classes) {
    canvas.fill(box, {240, 240, 240});
    return;
  }
  const int64_t count = matrix.at(predicted, truth);
  // A share of the class's objects; for false alarms, of the class's detections.
  const int64_t total = extra ? totals.predicted[predicted] : totals.truth[truth];
  const double share = total > 0 ? count / static_cast<double>(total) : 0;
  const cv::Scalar fill = heat(share, background);
  canvas.fill(box, fill);
  if (!layout.numbers) return;
  const cv::Scalar color = count == 0      ? cv::Scalar(175, 175, 175)
                           : is_dark(fill) ? cv::Scalar(255, 255, 255)
                                           : ink;
  const cv::Point2d middle = (box.tl() + box.br()) / 2;
  const std::string words = std::to_string(count);
  const bool two_rows = layout.cell >= 46 && count > 0;
  double letters = std::clamp(layout.cell * 0.16, 6.5, 11.0);
  letters *= std::min(1.0, (layout.cell - 4) / Canvas::text_width(words, letters, true));
  canvas.text(words, {middle.x, middle.y - (two_rows ? letters * 0.85 : 0)}, letters, color, Align::center,
              true);
  if (two_rows) {
    canvas.text(fmt::format("{:.0f} %", 100 * share), {middle.x, middle.y + letters * 0.95}, letters * 0.8,
                color, Align::center);
  }
}

void draw_names(Canvas& canvas, const Layout& layout, const Metrics& metrics) {
  const double letters = layout.letters(), room = layout.left - 52;
  for (int i = 0; i < layout.size; ++i) {
    const bool background = i == layout.size - 1;
    const double middle = layout.at(i) + layout.cell / 2;
    const auto name = [&](const char* of_background) {
      const std::string words = background ? of_background : shown_name(metrics.per_class[i].name, i);
      return shortened(words, room * Canvas::density, letters * Canvas::density, background);
    };
    const cv::Scalar color = background ? cv::Scalar(160, 70, 10) : ink;
    canvas.text(name("missed"), {layout.left - 8, layout.top + middle}, letters, color, Align::right,
                background);
    canvas.text_upward(name("false alarm"), {layout.left + middle, layout.top + layout.side() + 8}, letters,
                       color, Align::right, background);
  }
}

/// Too many classes for names: the numbers of some.
void draw_class_numbers(Canvas& canvas, const Layout& layout) {
  int step = 10;
  while (step * layout.cell < 40) step *= 2;
  for (int i = 0; i < layout.size - 1; i += step) {
    const double middle = layout.at(i) + layout.cell / 2;
    canvas.text(std::to_string(i), {layout.left - 8, layout.top + middle}, 9, ink, Align::right);
    canvas.text(std::to_string(i), {layout.left + middle, layout.top + layout.side() + 14}, 9, ink,
                Align::center);
  }
}

void draw_scale(Canvas& canvas, cv::Rect2d bar, bool background, const std::string& words) {
  for (int i = 0; i < 100; ++i) {
    canvas.fill({bar.x, bar.y + bar.height * i / 100, bar.width, bar.height / 100 + 0.5},
                heat(1 - i / 99.0, background));
  }
  canvas.frame(bar, gray, 1);
  for (double tick : {0.0, 0.5, 1.0})
    canvas.text(fmt::format("{:.0f} %", 100 * tick), {bar.x + 22, bar.y + bar.height * (1 - tick)}, 8, ink);
  canvas.text_upward(words, {bar.x + 70, bar.y + bar.height / 2}, 8, gray);
}

}  // namespace

cv::Mat plot_confusion(const Metrics& metrics) {
  const ConfusionMatrix& matrix = metrics.confusion;
  double longest = 0;
  if (matrix.classes <= most_classes) {
    for (const ClassMetrics& c : metrics.per_class)
      longest = std::max(longest, Canvas::text_width(c.name, 10));
  }
  const Layout layout(matrix, longest);
  const Totals totals(matrix);
  const double right = layout.left + layout.side();
  Canvas canvas(static_cast<int>(std::max(right + 120, 620.0)),
                static_cast<int>(layout.top + std::max(layout.side(), 260.0) + layout.below));
  canvas.text("Confusion matrix", {24, 28}, 13, ink, Align::left, true);
  canvas.text(
      fmt::format("detections of confidence ≥ {:.3f}, matched at IoU ≥ {:.2f}; {} objects in {} images",
                  matrix.thresholds.score, matrix.thresholds.iou, metrics.truths, metrics.images),
      {24, 54}, 9, gray);
  if (matrix.classes > layout.shown)
    canvas.text(fmt::format("the first {} classes, … and {} more classes", layout.shown,
                            matrix.classes - layout.shown),
                {24, 74}, 9, gray);
  for (int predicted = 0; predicted < layout.size; ++predicted) {
    for (int truth = 0; truth < layout.size; ++truth)
      draw_cell(canvas, layout, matrix, totals, predicted, truth);
  }
  const double classes = layout.at(layout.size - 1) - layout.gap;
  for (int i = 0; i < layout.size && layout.cell >= 14; ++i) {
    for (const double at : {i * layout.cell}) {
      canvas.line({layout.left + at, layout.top}, {layout.left + at, layout.top + classes}, faint, 1);
      canvas.line({layout.left, layout.top + at}, {layout.left + classes, layout.top + at}, faint, 1);
    }
  }
  canvas.frame({layout.left, layout.top, layout.side(), layout.side()}, gray, 1);
  if (layout.names) {
    draw_names(canvas, layout, metrics);
  } else {
    draw_class_numbers(canvas, layout);
  }
  canvas.text_upward("detected as", {26, layout.top + layout.side() / 2}, 11, ink);
  canvas.text("labelled as",
              {layout.left + layout.side() / 2, layout.top + layout.side() + layout.below - 16}, 11, ink,
              Align::center);
  const double height = std::clamp(layout.side() / 2 - 16, 90.0, 240.0);
  draw_scale(canvas, {right + 24, layout.top, 15, height}, false, "of the class's objects");
  draw_scale(canvas, {right + 24, layout.top + height + 30, 15, height}, true, "missed / false");
  return canvas.finish();
}

}  // namespace brightnet
