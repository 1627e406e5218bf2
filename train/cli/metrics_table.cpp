#include "train/cli/metrics_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace brightnet::cli {
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
  double precision = 0, recall = 0;
  int counted = 0;
  for (const auto& one : metrics.per_class) {
    const bool any = one.truths > 0;
    text += row(one.name, width, one.truths, one.AP50, one.AP, any ? one.best.precision : no_truths,
                any ? one.best.recall : no_truths);
    precision += any ? one.best.precision : 0;
    recall += any ? one.best.recall : 0;
    counted += any;
  }
  text += row("all", width, metrics.truths, metrics.AP50, metrics.AP,
              counted ? precision / counted : no_truths, counted ? recall / counted : no_truths);
  text += fmt::format(
      "AP75 {}  APs {}  APm {}  APl {}  AR {}  ({} images; AP50 is mAP@0.5, AP is mAP@0.5:0.95; precision "
      "and recall at each class's best F1)",
      number(metrics.AP75), number(metrics.APs), number(metrics.APm), number(metrics.APl), number(metrics.AR),
      metrics.images);
  return text;
}

}  // namespace brightnet::cli
