#include "train/report/epoch_summary.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

using Row = std::map<std::string, double>;

Row row_of(const EpochSummary& summary, const std::vector<std::string>& classes) {
  const auto columns = metric_columns(classes);
  const auto values = metric_values(summary, classes.size());
  EXPECT_EQ(columns.size(), values.size());
  Row row;
  for (size_t i = 0; i < columns.size(); ++i) row[columns[i]] = values[i];
  EXPECT_EQ(row.size(), columns.size()) << "two columns have one name";
  return row;
}

Metrics measured() {
  Metrics metrics;
  metrics.AP = 0.25;
  metrics.best = {0.75, 0.5, 0.6, 0.3};
  metrics.loss = MeanLoss{1, 2, 4};
  for (const double AP : {0.5, no_truths}) metrics.per_class.emplace_back().AP = AP;
  return metrics;
}

TEST(EpochSummary, HasTheEvaluationsOwnColumns) {
  const Metrics metrics = measured();
  EpochSummary summary{.epoch = 3, .metrics = &metrics};
  summary.sums = {.images = 30, .seconds = 10};
  summary.losses.images = 4;
  summary.losses.assigned = 10;
  summary.losses.box = 5;
  summary.losses.iou = 8;
  const Row row = row_of(summary, {"bolt", "nut"});
  EXPECT_EQ(row.at("box_loss"), 0.5);
  EXPECT_EQ(row.at("iou"), 0.8) << "a mean over the assigned predictions";
  EXPECT_EQ(row.at("seconds"), 10);
  EXPECT_EQ(row.at("images_per_s"), 3);
  EXPECT_EQ(row.at("val_box"), 1);
  EXPECT_EQ(row.at("val_objectness"), 2);
  EXPECT_EQ(row.at("val_class"), 4);
  EXPECT_EQ(row.at("val_loss"), 7);
  EXPECT_EQ(row.at("precision"), 0.75);
  EXPECT_EQ(row.at("recall"), 0.5);
  EXPECT_EQ(row.at("ap_bolt"), 0.5);
  EXPECT_TRUE(std::isnan(row.at("ap_nut"))) << "without ground truth";
}

TEST(EpochSummary, ShowsTheLossPerAssignedPrediction) {
  LossTotals totals;
  totals.box = 8;
  totals.objectness = 4;
  totals.classes = 2;
  totals.images = 16;
  totals.assigned = 4;
  const MeanLoss mean = mean_loss(totals);
  EXPECT_EQ(mean.box, 2);
  EXPECT_EQ(mean.objectness, 1);
  EXPECT_EQ(mean.classes, 0.5);
  EXPECT_EQ(mean.total(), 3.5);
  totals.assigned = 0;
  EXPECT_EQ(mean_loss(totals).objectness, 4) << "images without objects";
}

TEST(EpochSummary, IsEmptyWhereNothingWasEvaluatedAndHasNoTimesWithinAnEpoch) {
  EpochSummary summary{.epoch = 2.5, .whole = false};
  summary.sums = {.images = 30, .seconds = 10};
  summary.losses.images = 4;
  summary.losses.assigned = 10;
  summary.losses.box = 5;
  const Row row = row_of(summary, {"bolt"});
  EXPECT_EQ(row.at("box_loss"), 0.5);
  for (const char* column :
       {"AP", "val_loss", "precision", "ap_bolt", "seconds", "images_per_s", "data_wait"})
    EXPECT_TRUE(std::isnan(row.at(column))) << column;
}

TEST(EpochSummary, ListsNoMoreThanFiftyClassesAndKeepsTheirNames) {
  EXPECT_TRUE(row_of({}, {"a\nb", "a\rb", "a_b"}).contains("ap_a_b__"));
  EXPECT_TRUE(row_of({}, {"a\x1b[31m"}).contains("ap_a\\u001b[31m"));
  EXPECT_TRUE(row_of({}, {"traffic light, \"red\""}).contains("ap_traffic light, \"red\""));
  EXPECT_EQ(metric_columns(std::vector<std::string>(51, "x")).size(), metric_columns({}).size());
  EXPECT_EQ(metric_values({}, 51).size(), metric_columns({}).size());
  EXPECT_EQ(row_of({}, std::vector<std::string>{"x", "y"}).count("ap_y"), 1u);
}

TEST(EpochSummary, HasTheLossAgainstATeacherWhereThereIsOne) {
  EpochSummary summary;
  summary.losses = {.box = 2, .assigned = 4, .images = 8, .distillation = 6};
  const auto columns = metric_columns({"x"}, true);
  const auto values = metric_values(summary, 1, true);
  ASSERT_EQ(columns.size(), values.size());
  ASSERT_EQ(columns.size(), metric_columns({"x"}).size() + 1);
  const auto at = [&](const std::string& name) {
    return values[static_cast<size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin())];
  };
  EXPECT_EQ(at("distill_loss"), 1.5);
  EXPECT_EQ(at("loss"), 0.5) << "validation has no teacher";
}

TEST(EpochSummary, NamesItsCurves) {
  EXPECT_EQ(curve_name("box_loss"), "train/box_loss");
  EXPECT_EQ(curve_name("val_box"), "val/box_loss");
  EXPECT_EQ(curve_name("AP50"), "val/AP50");
  EXPECT_EQ(curve_name("ap_bolt"), "val_AP/bolt");
  EXPECT_TRUE(is_of_validation("ap_bolt"));
  EXPECT_FALSE(is_of_validation("seconds"));
}

}  // namespace
}  // namespace brightnet
