#include "train/report/epoch_summary.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/printable.h"

namespace brightnet {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
/// A table of more classes' AP helps nobody.
constexpr size_t most_class_columns = 50;
constexpr const char* class_prefix = "ap_";

/// Columns that are not of training, and their curves.
const std::map<std::string, std::string>& validation_curves() {
  static const std::map<std::string, std::string> curves{{"AP", "val/AP"},
                                                         {"AP50", "val/AP50"},
                                                         {"AP75", "val/AP75"},
                                                         {"AR", "val/AR"},
                                                         {"val_box", "val/box_loss"},
                                                         {"val_objectness", "val/objectness_loss"},
                                                         {"val_class", "val/class_loss"},
                                                         {"val_loss", "val/loss"},
                                                         {"precision", "val/precision"},
                                                         {"recall", "val/recall"}};
  return curves;
}

/// A class's column, whose name has no line breaks and is not there yet.
std::string class_column(const std::string& name, const std::vector<std::string>& columns) {
  std::string column = class_prefix + name;
  for (char& c : column) {
    if (c == '\r' || c == '\n') c = '_';
  }
  column = printable(column);
  while (std::find(columns.begin(), columns.end(), column) != columns.end()) column += '_';
  return column;
}

std::vector<double> training_values(const EpochSummary& summary) {
  const EpochSums& s = summary.sums;
  const LossTotals& l = summary.losses;
  // No loss when all steps were skipped.
  const MeanLoss loss = l.images > 0 ? mean_loss(l) : MeanLoss{nothing, nothing, nothing};
  const auto per_second = [&](double sum) {
    return summary.whole && s.seconds > 0 ? sum / s.seconds : nothing;
  };
  return {loss.box,
          loss.objectness,
          loss.classes,
          loss.total(),
          l.assigned > 0 ? l.iou / l.assigned : nothing,
          summary.rate,
          summary.loss_scale > 0 ? summary.loss_scale : nothing,
          per_second(s.images),
          per_second(s.waited),
          per_second(s.comm_waited)};
}

}  // namespace

std::vector<std::string> metric_columns(const std::vector<std::string>& classes, bool taught) {
  std::vector<std::string> columns{"box_loss",
                                   "objectness_loss",
                                   "class_loss",
                                   "loss",
                                   "iou",
                                   "learning_rate",
                                   "loss_scale",
                                   "images_per_s",
                                   "data_wait",
                                   "comm_wait",
                                   "AP",
                                   "AP50",
                                   "AP75",
                                   "AR",
                                   "gradient_norm",
                                   "clipped",
                                   "seconds",
                                   "val_box",
                                   "val_objectness",
                                   "val_class",
                                   "val_loss",
                                   "precision",
                                   "recall",
                                   "input_height"};
  if (taught) columns.emplace_back("distill_loss");
  if (classes.size() > most_class_columns) return columns;
  for (const std::string& name : classes) columns.push_back(class_column(name, columns));
  return columns;
}

std::vector<double> metric_values(const EpochSummary& summary, size_t classes, bool taught) {
  const LossTotals& l = summary.losses;
  const Metrics none;
  const Metrics& metrics = summary.metrics ? *summary.metrics : none;
  const auto known = [](double metric) { return metric != no_truths ? metric : nothing; };
  std::vector<double> values = training_values(summary);
  for (const double metric : {metrics.AP, metrics.AP50, metrics.AP75, metrics.AR})
    values.push_back(known(metric));
  values.push_back(l.steps > 0 ? l.norm / l.steps : nothing);
  values.push_back(l.steps > 0 ? l.clipped / l.steps : nothing);
  values.push_back(summary.whole ? summary.sums.seconds : nothing);
  const MeanLoss loss = metrics.loss.value_or(MeanLoss{nothing, nothing, nothing});
  for (const double part : {loss.box, loss.objectness, loss.classes, loss.total()}) values.push_back(part);
  const bool scored = metrics.AP != no_truths;
  values.push_back(scored ? metrics.best.precision : nothing);
  values.push_back(scored ? metrics.best.recall : nothing);
  values.push_back(summary.input_height);
  if (taught) values.push_back(l.images > 0 ? mean_loss(l).distillation : nothing);
  for (size_t i = 0; classes <= most_class_columns && i < classes; ++i)
    values.push_back(i < metrics.per_class.size() ? known(metrics.per_class[i].AP) : nothing);
  return values;
}

std::string curve_name(const std::string& column) {
  const auto found = validation_curves().find(column);
  if (found != validation_curves().end()) return found->second;
  if (column.rfind(class_prefix, 0) == 0) return "val_AP/" + column.substr(std::string(class_prefix).size());
  return "train/" + column;
}

bool is_of_validation(const std::string& column) {
  return curve_name(column).rfind("val", 0) == 0;
}

}  // namespace brightnet
