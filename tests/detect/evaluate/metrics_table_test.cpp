#include "detect/evaluate/metrics_table.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

Metrics metrics_of(int classes) {
  Metrics metrics;
  for (int i = 0; i < classes; ++i) {
    ClassMetrics& one = metrics.per_class.emplace_back();
    one.name = "class" + std::to_string(i);
    one.truths = i + 1 == classes;  // only the last one has objects
  }
  return metrics;
}

TEST(MetricsTable, OfManyClassesListsTheFirstAndCountsTheOthers) {
  const std::string all = metrics_table(metrics_of(100)), cut = metrics_table(metrics_of(10'000));
  EXPECT_EQ(all.find("more classes"), std::string::npos);
  EXPECT_NE(all.find("class99 "), std::string::npos);
  EXPECT_EQ(std::count(cut.begin(), cut.end(), '\n'), std::count(all.begin(), all.end(), '\n') + 1);
  EXPECT_NE(cut.find("… and 9900 more classes"), std::string::npos) << cut;
  for (const char* place : {"report.html", "`brightnet eval --json`"})
    EXPECT_NE(cut.find(place), std::string::npos) << place;
  EXPECT_EQ(cut.find("metrics.csv"), std::string::npos) << "which has no columns for so many classes";
  EXPECT_NE(cut.find("one for all classes"), std::string::npos) << "classes that are not listed count";
}

}  // namespace
}  // namespace brightnet
