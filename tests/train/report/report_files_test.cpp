#include "train/report/report_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/random.h"
#include "data/drawing/draw.h"
#include "train/report/page.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// A report in a fresh folder, of a data set whose only image is noise, which no format makes small.
struct Report {
  Report() : folder(RunFolder::create(fresh())) {
    cv::Mat noise(600, 600, CV_8UC3);
    Random random(1, Purpose::test);
    for (auto* byte = noise.datastart; byte < noise.dataend; ++byte)
      *const_cast<uchar*>(byte) = static_cast<uchar>(random.below(256));
    write_image(folder.file("noise.jpg"), noise);
    ImageRecord image;
    image.file = folder.file("noise.jpg");
    image.width = image.height = 600;
    val.images = {image};
    val.classes = {"bolt"};
  }
  ~Report() { fs::remove_all(folder.path()); }
  static fs::path fresh() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const fs::path path = fs::path(::testing::TempDir()) / (std::string("report_") + test->name());
    fs::remove_all(path);
    return path;
  }
  uintmax_t event_bytes() const {
    uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      if (entry.path().filename().string().rfind("events.", 0) == 0) bytes += entry.file_size();
    }
    return bytes;
  }

  RunFolder folder;
  OutputFiles files;
  BestEffort best_effort;
  Dataset val;
};

RunDescription of_bolts() {
  RunDescription run;
  run.classes = {"bolt"};
  return run;
}

TEST(RunReport, DrawsTheBestAtItsEndAndItsPageOutlivesAResume) {
  Report run;
  Metrics metrics;
  metrics.AP = 0.5;
  metrics.per_class.resize(1);
  metrics.confusion = ConfusionMatrix(1);
  metrics.worst = {{0, 1, {}}};
  {
    RunReport report(run.folder, run.files, run.best_effort, of_bolts(), -1, 0, 0);
    report.add_epoch({.epoch = 1, .metrics = &metrics});
    report.add_best(metrics, run.val, 1, 1);
    report.plot();
  }
  for (const char* name :
       {"val_pred0.jpg", "confusion_matrix.png", "f1_curve.png", "results.png", "report.html"})
    EXPECT_TRUE(fs::exists(run.folder.file(name))) << name;
  EXPECT_EQ(read_file(run.folder.file("report.html")).find("training has ended"), std::string::npos);
  RunReport resumed(run.folder, run.files, run.best_effort, of_bolts(), 1, 1, 1);
  resumed.add_epoch({.epoch = 2});
  resumed.finish({"It is over."});
  const std::string page = read_file(run.folder.file("report.html"));
  for (const char* part : {"training has ended", "It is over.", "val_pred0.jpg", "Confusion matrix"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(RunReport, OfAShortRunItIsDrawnWhenAskedForAndOnlyForNews) {
  Report run;
  RunReport report(run.folder, run.files, run.best_effort, of_bolts(), -1, 0, 0);
  const auto is_drawn = [&] {
    const bool drawn =
        fs::exists(run.folder.file("results.png")) && fs::exists(run.folder.file("report.html"));
    fs::remove(run.folder.file("results.png"));
    return drawn;
  };
  report.plot_rest();
  EXPECT_FALSE(is_drawn()) << "without an epoch";
  report.add_epoch({.epoch = 1});
  EXPECT_FALSE(is_drawn()) << "in the first 20 seconds";
  report.plot_rest();
  EXPECT_TRUE(is_drawn());
  report.plot_rest();
  EXPECT_FALSE(is_drawn()) << "a second time";
}

// The best evaluation was within the second epoch, whose own at its end is worse; the state has its scores alone.
TEST(RunReport, AResumedRunHasTheScoresOfItsBestEvaluationAndNotOfAnother) {
  Report run;
  Metrics best;
  best.AP50 = 0.875;
  best.AP = 0.625;
  best.best = {.precision = 0.8, .recall = 0.7, .f1 = 0.75, .score = 0.3};
  best.per_class.resize(1);
  best.confusion = ConfusionMatrix(1);
  best.worst = {{0, 1, {}}};
  const auto check = [&](const char* when) {
    const Page page = Page::read(read_file(run.folder.file("report.html")));
    const std::string tiles = page.section("").dump();
    const std::pair<const char*, const char*> all[] = {{"AP50 (mAP@0.5)", "0.875"},
                                                       {"AP (mAP@0.5:0.95)", "0.625"},
                                                       {"precision at confidence 0.300", "0.800"},
                                                       {"recall at confidence 0.300", "0.700"}};
    for (const auto& [name, value] : all) {
      const std::string tile = Json{name, value}.dump();
      EXPECT_NE(tiles.find(tile), std::string::npos) << tile << ' ' << when << ": " << tiles;
    }
    EXPECT_FALSE(page.section(Page::confusion_title).is_null()) << when;
  };
  {
    RunReport report(run.folder, run.files, run.best_effort, of_bolts(), -1, 0, 0);
    report.add_epoch({.epoch = 1.4, .metrics = &best, .whole = false});
    report.add_best(best, run.val, 2, 14);
    report.plot();
  }
  check("before");
  Metrics saved = best, worse = best;
  saved.confusion = ConfusionMatrix();
  saved.worst.clear();
  worse.AP50 = worse.AP = 0.25;
  {
    RunReport resumed(run.folder, run.files, run.best_effort, of_bolts(), 1.4, 2, 14, &saved);
    saved = Metrics();
    resumed.plot();
    check("once resumed");
    resumed.add_epoch({.epoch = 2, .metrics = &worse});
    resumed.plot();
    check("after the epoch");
    resumed.finish();
    check("at the end");
  }
}

/// Curves of so many rows are drawn with fewer of them.
TEST(RunReport, ThePageOfALongRunHasTheTimeOfEveryEpoch) {
  Report run;
  std::string rows = "epoch,images_per_s,AP,seconds\n";
  for (int epoch = 1; epoch <= 5000; ++epoch)
    rows += fmt::format("{},8,{},1\n", epoch, epoch % 200 == 0 ? "0.5" : "");
  write_atomically(run.folder.metrics(), rows);
  RunReport report(run.folder, run.files, run.best_effort, of_bolts(), 5000, 0, 0);
  report.finish({});
  const Json tiles = Page::read(read_file(run.folder.file("report.html"))).section("");
  const auto said = [&](const char* name, const char* value) {
    return tiles.dump().find(fmt::format(R"(["{}","{}"])", name, value)) != std::string::npos;
  };
  EXPECT_TRUE(said("time of training", "1:23:20")) << tiles.dump();
  EXPECT_TRUE(said("images per second", "8.0")) << tiles.dump();
  EXPECT_TRUE(said("epochs trained", "5000")) << tiles.dump();
}

TEST(RunReport, ShowsTheFirstTrainingBatchAndStillAfterAResume) {
  Report run;
  std::vector<uint8_t> pixels(static_cast<size_t>(2 * 3 * 64 * 64), 90);
  Batch batch;
  batch.pixels = pixels.data();
  batch.count = 2;
  batch.height = batch.width = 64;
  batch.truths.resize(2);
  const auto shown = [&](const char* title) {
    return !Page::read(read_file(run.folder.file("report.html"))).section(title).is_null();
  };
  {
    RunReport report(run.folder, run.files, run.best_effort, of_bolts(), -1, 0, 0);
    for (int number = 0; number < 4; ++number) report.add_batch(batch, number);
    report.plot();
  }
  EXPECT_TRUE(shown("Training samples 1"));
  EXPECT_FALSE(shown("Training samples 2"));
  EXPECT_TRUE(fs::exists(run.folder.file("train_batch2.jpg")));
  EXPECT_FALSE(fs::exists(run.folder.file("train_batch3.jpg")));
  RunReport resumed(run.folder, run.files, run.best_effort, of_bolts(), 1, 1, 1);
  resumed.finish({"It is over."});
  EXPECT_TRUE(shown("Training samples 1"));
}

TEST(RunReport, BoundsTheBytesOfTensorBoardsEvents) {
  Report run;
  Metrics metrics;
  metrics.AP = 0.5;
  metrics.per_class.resize(1);
  metrics.confusion = ConfusionMatrix(1);
  TrainingPoint point{.iteration = 1, .sums = {}, .losses = {}, .rate = 0.1f};
  point.losses.images = 1;
  metrics.worst = {{0, 0, {}}};
  for (const int first : {0, 25}) {  // the second time the run is resumed
    RunReport report(run.folder, run.files, run.best_effort, of_bolts(), first == 0 ? -1 : first,
                     first == 0 ? 0 : first, first);
    for (int epoch = first; epoch < first + 25; ++epoch) {
      for (int i = 0; i < 60; ++i) report.add_point(point);
      report.add_epoch({.epoch = epoch + 1.0, .iteration = epoch, .metrics = &metrics});
      report.add_best(metrics, run.val, epoch + 1, epoch);
    }
    EXPECT_GT(run.event_bytes(), 2u << 20) << "there are pictures";
    EXPECT_LT(run.event_bytes(), 10u << 20);
  }
}

}  // namespace
}  // namespace brightnet
