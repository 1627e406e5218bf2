#include "train/report/metrics_csv.h"

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
  csv.add(1, {2.5, NAN});
  csv.save();
  csv.add(2, {1.25, 0.125});
  csv.save();
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
    for (int epoch = 1; epoch <= 5; ++epoch) csv.add(epoch, {epoch / 8.0});
    csv.save();
  }
  std::ofstream(file, std::ios::app) << "6,0.7";  // the machine died here
  MetricsCsv csv(file, {"loss"}, 3);
  csv.add(4, {9});
  csv.save();
  EXPECT_EQ(read_file(file), "epoch,loss\n1,0.125\n2,0.25\n3,0.375\n4,9\n");
}

TEST(MetricsCsv, ResumeLeavesOutRowsThatAPowerCutHasMadeZeros) {
  const auto file = fresh_file("zeros");
  for (const std::string& torn :
       {std::string(40, '\0'), std::string(9, '\0') + "\n4,0.5\n", "3,0." + std::string(3, '\0') + "\n"}) {
    write_atomically(file, "epoch,loss\n1,0.125\n2,0.25\n" + torn);
    MetricsCsv csv(file, {"loss"}, 5);
    csv.add(6, {9});
    csv.save();
    EXPECT_EQ(read_file(file), "epoch,loss\n1,0.125\n2,0.25\n6,9\n");
  }
}

TEST(MetricsCsv, ResumeWithinAnEpochKeepsTheEvaluationsUpToThere) {
  const auto file = fresh_file("within");
  {
    MetricsCsv csv(file, {"loss"});
    for (const double epoch : {1.0, 1 + 1.0 / 3, 1 + 2.0 / 3, 2.0, 2.5}) csv.add(epoch, {1});
    csv.save();
  }
  MetricsCsv csv(file, {"loss"}, 1 + 2.0 / 3);
  csv.add(2, {2});
  csv.save();
  EXPECT_EQ(read_file(file), "epoch,loss\n1,1\n1.33333333,1\n1.66666667,1\n2,2\n");
}

TEST(MetricsCsv, ResumeWithoutATableStartsOne) {
  const auto file = fresh_file("none");
  MetricsCsv(file, {"loss"}, 3).save();
  EXPECT_EQ(read_file(file), "epoch,loss\n");
}

TEST(MetricsCsv, IsDrawnWithFewerRowsOfALongRunButWithEachEvaluation) {
  MetricsCsv csv(fresh_file("long"), {"loss", "AP"});
  for (int epoch = 1; epoch <= 20000; ++epoch) csv.add(epoch, {1, epoch % 1001 == 0 ? 0.5 : NAN});
  const MetricsTable table = csv.for_drawing();
  EXPECT_GT(std::ssize(table.rows), 3000);
  EXPECT_LT(std::ssize(table.rows), 4200);
  int evaluations = 0;
  for (const auto& row : table.rows) evaluations += !std::isnan(row[2]);
  EXPECT_EQ(evaluations, 20000 / 1001);
  EXPECT_EQ(table.rows.back()[0], 20000);
}

TEST(MetricsCsv, RefusesATableWithColumnsThatWouldBeLost) {
  const auto file = fresh_file("other");
  std::ofstream(file) << "epoch,loss,mood\n1,1,2\n";
  EXPECT_THROW(MetricsCsv(file, {"loss"}, 1), InputError);
  EXPECT_EQ(read_file(file), "epoch,loss,mood\n1,1,2\n");
}

TEST(MetricsCsv, ContinuesATableOfAnOlderVersionWithEmptyCells) {
  const auto file = fresh_file("older");
  std::ofstream(file) << "epoch,loss,AP\n1,2.5,0.25\n2,1.5,\n";
  MetricsCsv csv(file, {"loss", "AP", "clipped"}, 2);
  csv.add(3, {1, 0.5, 0.125});
  csv.save();
  EXPECT_EQ(read_file(file), "epoch,loss,AP,clipped\n1,2.5,0.25,\n2,1.5,,\n3,1,0.5,0.125\n");
}

TEST(MetricsCsv, WritesTheRowsThatCouldNotBeWrittenBeforeTheNext) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "metrics_csv_gone";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto file = folder / "metrics.csv", away = folder / "away.csv";
  MetricsCsv csv(file, {"loss"});
  csv.add(1, {4});
  csv.save();
  std::filesystem::rename(file, away);
  std::filesystem::create_directory(file);  // a folder in the file's place
  csv.add(2, {3});
  EXPECT_THROW(csv.save(), InputError);
  EXPECT_EQ(csv.for_drawing().rows.size(), 2u);
  std::filesystem::remove(file);
  std::filesystem::rename(away, file);
  csv.add(3, {2});
  csv.save();
  EXPECT_EQ(read_file(file), "epoch,loss\n1,4\n2,3\n3,2\n");
  std::filesystem::remove(file);
  csv.add(4, {1});
  csv.save();
  EXPECT_EQ(read_file(file), "epoch,loss\n1,4\n2,3\n3,2\n4,1\n") << "and the whole table where it vanished";
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

TEST(MetricsCsv, KeepsWhatClassesAreCalled) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "quoted.csv";
  const std::string name = "ap_traffic light, \"red\"";
  MetricsCsv csv(file, {"AP", name});
  csv.add(1, {0.5, 0.25});
  csv.save();
  EXPECT_EQ(read_file(file), "epoch,AP,\"ap_traffic light, \"\"red\"\"\"\n1,0.5,0.25\n");
  const MetricsTable table = read_metrics_csv(file);
  EXPECT_EQ(table.column(name), 2);
  EXPECT_EQ(MetricsCsv(file, {"AP", name}, 1).for_drawing().rows, table.rows)
      << "as a resumed run goes on with it";
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace brightnet
