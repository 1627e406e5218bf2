#include "detect/evaluate/metrics_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace brightnet {
namespace {

/// All classes of COCO, and not 10,000.
constexpr size_t most_rows = 100;

std::string number(double value) {
  return value < 0 ? std::string("-") : fmt::format("{:.4f}", value);
}

std::string row(const std::string& name, size_t width, int64_t truths, double ap50, double ap,
                double precision, double recall) {
  return fmt::format("{:<{}}  {:>8}  {:>7}  {:>7}  {:>9}  {:>7}\n", name, width, truths, number(ap50),
                     number(ap), number(precision), number(recall));
}

}  // namespace

std::string metrics_table(const Metrics& metrics) {
  const size_t rows = std::min(metrics.per_class.size(), most_rows);
  size_t width = 5;
  for (size_t i = 0; i < rows; ++i) width = std::max(width, metrics.per_class[i].name.size());
  std::string text = fmt::format("{:<{}}  {:>8}  {:>7}  {:>7}  {:>9}  {:>7}\n", "class", width, "objects",
                                 "AP50", "AP", "precision", "recall");
  bool any = false;
  for (size_t i = 0; i < metrics.per_class.size(); ++i) {
    const ClassMetrics& one = metrics.per_class[i];
    const bool labelled = one.truths > 0;
    any = any || labelled;
    if (i >= rows) continue;
    text += row(one.name, width, one.truths, one.AP50, one.AP, labelled ? one.best.precision : no_truths,
                labelled ? one.best.recall : no_truths);
  }
  if (metrics.per_class.size() > rows)
    text += fmt::format("… and {} more classes, which report.html and `brightnet eval --json` list\n",
                        metrics.per_class.size() - rows);
  text += row("all", width, metrics.truths, metrics.AP50, metrics.AP,
              any ? metrics.best.precision : no_truths, any ? metrics.best.recall : no_truths);
  text += fmt::format("AP75 {}  APs {}  APm {}  APl {}  AR {}  ({} images)\n", number(metrics.AP75),
                      number(metrics.APs), number(metrics.APm), number(metrics.APl), number(metrics.AR),
                      metrics.images);
  if (metrics.loss) {
    text += fmt::format("loss {:.4f} (box {:.4f}, objectness {:.4f}, class {:.4f})\n", metrics.loss->total(),
                        metrics.loss->box, metrics.loss->objectness, metrics.loss->classes);
  }
  text +=
      "AP50 is mAP@0.5, AP is mAP@0.5:0.95. Each class has its precision and recall at the confidence that suits it best";
  if (any) text += fmt::format("; the line \"all\" has one for all classes, {:.3f}", metrics.best.score);
  return text + '.';
}

}  // namespace brightnet
