#include "train/run/report/metrics_csv.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

std::filesystem::path fresh_file(const std::string& name) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / ("metrics_csv_" + name + ".csv");
  std::filesystem::remove(file);
  return file;
}

TEST(MetricsCsv, WritesTheHeaderOnceAndLeavesWhatWasNotMeasuredEmpty) {
  const auto file = fresh_file("plain");
  MetricsCsv csv(file, {"loss", "AP50"});
  csv.append(1, {2.5, NAN});
  csv.append(2, {1.25, 0.125});
  EXPECT_EQ(read_file(file), "epoch,loss,AP50\n1,2.5,\n2,1.25,0.125\n");
  const MetricsTable table = read_metrics_csv(file);
  EXPECT_EQ(table.column("AP50"), 2);
  EXPECT_EQ(table.column("AP"), -1);
  EXPECT_TRUE(std::isnan(table.rows[0][2]));
  EXPECT_EQ(table.rows[1][1], 1.25);
}

TEST(MetricsCsv, ResumeCutsTheRowsThatWillBeDoneAgain) {
  const auto file = fresh_file("resume");
  {
    MetricsCsv csv(file, {"loss"});
    for (int epoch = 1; epoch <= 5; ++epoch) csv.append(epoch, {epoch / 8.0});
  }
  std::ofstream(file, std::ios::app) << "6,0.7";  // the machine died here
  MetricsCsv csv(file, {"loss"}, 3);
  csv.append(4, {9});
  EXPECT_EQ(read_file(file), "epoch,loss\n1,0.125\n2,0.25\n3,0.375\n4,9\n");
}

TEST(MetricsCsv, ResumeWithoutATableStartsOne) {
  const auto file = fresh_file("none");
  MetricsCsv csv(file, {"loss"}, 3);
  EXPECT_EQ(read_file(file), "epoch,loss\n");
}

TEST(MetricsCsv, RefusesATableWithOtherColumns) {
  const auto file = fresh_file("other");
  MetricsCsv(file, {"loss"}).append(1, {1});
  EXPECT_THROW(MetricsCsv(file, {"loss", "AP"}, 1), InputError);
  EXPECT_EQ(read_file(file), "epoch,loss\n1,1\n");
}

TEST(MetricsCsv, SaysWhereATableIsBroken) {
  const auto file = fresh_file("broken");
  std::ofstream(file) << "epoch,loss\n1,2\n2,abc\n";
  try {
    read_metrics_csv(file);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'abc' is not a number"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(file.string() + ":3"), std::string::npos) << error.what();
  }
  std::ofstream(file) << "epoch,loss\n1,2,3\n";
  EXPECT_THROW(read_metrics_csv(file), InputError);
  std::ofstream(file) << "";
  EXPECT_THROW(read_metrics_csv(file), InputError);
}

}  // namespace
}  // namespace brightnet
