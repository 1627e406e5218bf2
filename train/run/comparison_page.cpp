#include <fmt/format.h>

#include "core/host_memory.h"
#include "train/run/comparison.h"
#include "train/run/progress_line.h"

namespace brightnet {
namespace {

std::string score(double value) {
  return value < 0 ? "–" : fmt::format("{:.4f}", value);
}

}  // namespace

Page comparison_page(const std::vector<ComparedRun>& runs, bool over_minutes) {
  std::string names;
  for (const ComparedRun& run : runs) names += (names.empty() ? "" : ", ") + run.name;
  Page page(fmt::format("Comparison of {} runs", runs.size()), names);
  std::vector<std::vector<std::string>> rows;
  for (const ComparedRun& run : runs) {
    rows.push_back(
        {run.name, score(run.AP50), score(run.AP), score(run.AP75),
         run.best_epoch > 0 ? std::to_string(run.best_epoch) : "–", std::to_string(run.epochs),
         run.seconds > 0 ? format_seconds(run.seconds) : "–",
         run.images_per_s > 0 ? fmt::format("{:.1f}", run.images_per_s) : "–",
         run.parameters > 0 ? fmt::format("{:.2f} M", static_cast<double>(run.parameters) / 1e6) : "–",
         run.weights_bytes > 0 ? format_bytes(static_cast<double>(run.weights_bytes)) : "–"});
  }
  page.table("Runs",
             {"run", "AP50 (mAP@0.5)", "AP (mAP@0.5:0.95)", "AP75", "best epoch", "epochs", "time",
              "images/s", "parameters", "weights"},
             rows);
  page.panels("Curves", comparison_panels(runs, over_minutes),
              over_minutes ? "minutes of training" : "epoch");
  std::vector<std::string> head{"key"};
  for (const ComparedRun& run : runs) head.push_back(run.name);
  rows.clear();
  for (const DifferingKey& one : differing_keys(runs)) {
    rows.push_back({one.key});
    rows.back().insert(rows.back().end(), one.values.begin(), one.values.end());
  }
  if (!rows.empty()) page.table("Keys that differ", head, rows);
  Page::Pairs problems;
  for (const ComparedRun& run : runs) {
    for (const std::string& problem : run.problems) problems.emplace_back(run.name, problem);
  }
  page.facts("What is missing", problems);
  return page;
}

}  // namespace brightnet
