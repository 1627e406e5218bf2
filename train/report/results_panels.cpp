#include <algorithm>

#include "train/report/plots.h"

namespace brightnet {
namespace {

struct Line {
  std::string column, name;
  int color;
};

/// The measured values of one column, in order of epochs.
Curve curve_of(const MetricsTable& table, int column, const Line& line, const std::vector<double>& grew) {
  Curve curve{line.name, {}, {}, line.color};
  if (!grew.empty()) curve.comparable_after = grew.back();
  for (const std::vector<double>& row : table.rows) {
    const double value = row[column];
    if (!std::isfinite(value)) continue;
    curve.x.push_back(row[0]);
    curve.y.push_back(value);
  }
  return curve;
}

/// Whether a validation loss rises by much between evaluations of a run's first epochs.
bool jumps_early(const Curve& curve, double settling_epochs) {
  constexpr double much = 1.25;
  for (size_t i = 1; i < curve.y.size() && curve.x[i] <= settling_epochs; ++i) {
    if (curve.y[i] > much * curve.y[i - 1]) return true;
  }
  return false;
}

}  // namespace

std::vector<PlotPanel> results_panels(const MetricsTable& table, double settling_epochs) {
  constexpr int train = 0, validation = 1, more = 2;
  std::vector<PlotPanel> panels;
  const std::vector<double> grew = table.input_growth();
  const auto add = [&](const std::string& title, const std::vector<Line>& lines, Better better) {
    PlotPanel panel{title, {}, better, grew};
    for (const Line& line : lines) {
      if (const int column = table.column(line.column); column >= 0)
        panel.curves.push_back(curve_of(table, column, line, grew));
    }
    if (!panel.curves.empty()) panels.push_back(std::move(panel));
  };
  const auto add_loss = [&](const std::string& title, const std::string& column,
                            const std::string& val_column) {
    add(title, {{column, "training", train}, {val_column, "validation", validation}}, Better::lower);
    if (table.column(val_column) >= 0 && jumps_early(panels.back().curves.back(), settling_epochs))
      panels.back().note = "validation jumps while batch-norm settles";
  };
  add_loss("box loss", "box_loss", "val_box");
  add_loss("objectness loss", "objectness_loss", "val_objectness");
  add_loss("class loss", "class_loss", "val_class");
  add_loss("sum of the losses", "loss", "val_loss");
  add("loss against the teacher", {{"distill_loss", "training", train}}, Better::lower);
  add("average precision (mAP)",
      {{"AP50", "AP50 (mAP@0.5)", validation}, {"AP", "AP (mAP@0.5:0.95)", more}, {"AP75", "AP75", more + 1}},
      Better::higher);
  if (table.column("precision") >= 0) {
    add("precision and recall", {{"precision", "precision", validation}, {"recall", "recall", more}},
        Better::higher);
  } else {
    add("average recall", {{"AR", "AR (0.5:0.95)", more}}, Better::higher);
  }
  std::vector<Line> classes;
  for (const std::string& column : table.columns) {
    constexpr std::string_view prefix = "ap_";
    if (column.starts_with(prefix) && classes.size() < line_colors)
      classes.push_back({column, column.substr(prefix.size()), static_cast<int>(classes.size())});
  }
  if (classes.size() > 1) add("AP of each class", classes, Better::higher);
  add("IoU of assigned predictions", {{"iou", "training", train}}, Better::higher);
  add("learning rate", {{"learning_rate", "learning rate", train}}, Better::neither);
  return panels;
}

}  // namespace brightnet
