#include <fmt/format.h>

#include "train/report/comparison.h"

namespace brightnet {

Page comparison_page(const std::vector<ComparedRun>& runs, bool over_minutes) {
  std::string names;
  for (const ComparedRun& run : runs) names += (names.empty() ? "" : ", ") + run.name;
  Page page(fmt::format("Comparison of {} runs", runs.size()), names);
  page.table("Runs", comparison_columns, comparison_rows(runs));
  if (const std::string other = other_validation(runs); !other.empty()) page.sentences("Other data", {other});
  page.panels("Curves", comparison_panels(runs, over_minutes),
              over_minutes ? "minutes of training" : "epoch");
  std::vector<std::string> head{"key"};
  for (const ComparedRun& run : runs) head.push_back(run.name);
  std::vector<std::vector<std::string>> rows;
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
