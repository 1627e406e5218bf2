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

TEST(MetricsTable, HasEveryValueInItsColumn) {
  Metrics metrics;
  metrics.per_class.resize(2);
  ClassMetrics &cat = metrics.per_class[0], &dog = metrics.per_class[1];
  cat.name = "cat";
  cat.truths = metrics.truths = 12;
  cat.AP50 = metrics.AP50 = 0.5;
  cat.AP = metrics.AP = 0.25;
  cat.best = {0.75, 0.625, 0.68, 0.5};
  dog.name = "a dog";
  metrics.best = {0.7, 0.6, 0.65, 0.345};
  metrics.AP75 = 0.1;
  metrics.APs = 0.2;
  metrics.APm = 0.3;
  metrics.AR = 0.4;
  metrics.images = 9;
  metrics.loss = MeanLoss{1, 2, 4};
  EXPECT_EQ(
      metrics_table(metrics),
      "class   objects     AP50       AP  precision   recall\n"
      "cat          12   0.5000   0.2500     0.7500   0.6250\n"
      "a dog         0        -        -          -        -\n"
      "all          12   0.5000   0.2500     0.7000   0.6000\n"
      "AP75 0.1000  APs 0.2000  APm 0.3000  APl -  AR 0.4000  (9 images)\n"
      "loss 7.0000 (box 1.0000, objectness 2.0000, class 4.0000)\n"
      "AP50 is mAP@0.5, AP is mAP@0.5:0.95. Each class has its precision and recall at the confidence that "
      "suits it best; the line \"all\" has one for all classes, 0.345.");
}

}  // namespace
}  // namespace brightnet
