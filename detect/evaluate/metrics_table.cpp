#include "detect/evaluate/metrics_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace brightnet {
namespace {

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
  size_t width = 5;
  for (const auto& one : metrics.per_class) width = std::max(width, one.name.size());
  std::string text = fmt::format("{:<{}}  {:>8}  {:>7}  {:>7}  {:>9}  {:>7}\n", "class", width, "objects",
                                 "AP50", "AP", "precision", "recall");
  bool any = false;
  for (const auto& one : metrics.per_class) {
    const bool labelled = one.truths > 0;
    text += row(one.name, width, one.truths, one.AP50, one.AP, labelled ? one.best.precision : no_truths,
                labelled ? one.best.recall : no_truths);
    any = any || labelled;
  }
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
