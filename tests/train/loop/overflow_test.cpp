// Steps whose gradient overflows: they are skipped, the loss scale moves, and nothing that is saved is damaged.
#include <cmath>
#include <limits>
#include <set>

#include "formats/safetensors.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "tests/train/small_training.h"
#include "train/loop/trainer.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A CPU whose gradient of the loss overflows in some optimizer steps, counted from 0 over its life.
class OverflowingBackend : public cpu::CpuBackend {
 public:
  OverflowingBackend(int losses_per_step, std::set<int> steps)
      : losses_per_step_(losses_per_step), steps_(std::move(steps)) {}
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    cpu::CpuBackend::yolo_loss(head, pass);
    if (!pass.totals) return;  // of an evaluation
    if (steps_.count(losses_++ / losses_per_step_))
      pass.gradient.as<float>()[0] = std::numeric_limits<float>::infinity();
  }

 private:
  int losses_per_step_;
  std::set<int> steps_;
  int losses_ = 0;
};

void expect_finite(const fs::path& file) {
  for (const auto& [name, values] : tensors_of(file)) {
    for (const float value : values) ASSERT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(Overflows, NeverReachAFile) {
  SmallRun run;
  // The first step throws the weights so far that nothing finite comes of the later ones; three of them are
  // still in the first epoch, at whose end everything is saved.
  SmallTraining training(run.load({"optimizer.rate=1e30", "optimizer.clip=0", "schedule.warmup=0",
                                   "optimizer.max_skips=4", "train.epochs=5"}),
                         run.folder() / "out");
  Trainer trainer = training.make();
  try {
    trainer.run();
    FAIL() << "training went on";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("optimizer.rate"), std::string::npos) << e.what();
  }
  EXPECT_EQ(trainer.progress().state.applied, 1);
  expect_finite(training.folder.last());
  expect_finite(training.folder.state());
}

/// Two micro-batches of two heads are a step of a small run.
std::unique_ptr<Backend> overflowing(std::set<int> steps) {
  return std::make_unique<OverflowingBackend>(4, std::move(steps));
}

TEST(Overflows, AreSkippedAndMoveTheLossScale) {
  SmallRun run;
  const RunConfig config =
      run.load({"train.epochs=3", "optimizer.loss_scale=65536", "optimizer.loss_scale_growth=3"});
  SmallTraining training(config, run.folder() / "out", false, overflowing({1, 2}));
  training.watched_by = WatchedBy::all;
  Trainer trainer = training.make();
  EXPECT_EQ(trainer.progress().state.loss_scale, 65536) << "before a step has been seen";
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(trainer.progress().iteration, 9);
  EXPECT_EQ(trainer.progress().state.applied, 7);
  EXPECT_EQ(trainer.progress().state.skipped, 2);
  const auto table = read_metrics_csv(training.folder.metrics());
  std::vector<double> scales;
  for (const auto& row : table.rows) {
    scales.push_back(row[static_cast<size_t>(table.column("loss_scale"))]);
    EXPECT_TRUE(std::isfinite(row[static_cast<size_t>(table.column("loss"))]));
  }
  // Halved twice in the first epoch; three good steps in each of the others.
  EXPECT_EQ(scales, (std::vector<double>{16384, 32768, 65536}));
}

TEST(Overflows, BeforeTheFirstGoodStepAreSaidOnce) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=3", "optimizer.loss_scale=65536"});
  SmallTraining training(config, run.folder() / "out", false, overflowing({0, 1, 2, 5}));
  Trainer trainer = training.make();
  const Logged logged;
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(trainer.progress().state.skipped, 4);
  EXPECT_NE(logged.text().find("The loss scale was found in 3 steps that changed nothing: 8192."),
            std::string::npos)
      << logged.text();
  EXPECT_NE(logged.text().find("step 6 overflowed under a loss scale of 8192"), std::string::npos)
      << logged.text();
  EXPECT_EQ(logged.text().find("step 1 overflowed"), std::string::npos) << logged.text();
}

TEST(Overflows, AreNotNeededForTheSameWeightsUnderALossScale) {
  // Scales are powers of two: they change exponents and no mantissa.
  SmallRun run;
  std::vector<std::map<std::string, std::vector<float>>> results;
  for (const char* scale : {"optimizer.loss_scale=0", "optimizer.loss_scale=4096"}) {
    SmallTraining training(run.load({scale, "optimizer.loss_scale_growth=2", "optimizer.clip=1"}),
                           run.folder() / "out");
    training.make().run();
    results.push_back(tensors_of(training.folder.last()));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Overflows, LeaveAResumeBetweenThemAsIfItHadNeverStopped) {
  SmallRun run;
  const RunConfig config = run.load({"optimizer.loss_scale=65536", "optimizer.loss_scale_growth=2"});
  SmallTraining whole(config, run.folder() / "whole", false, overflowing({1, 2}));
  whole.watched_by = WatchedBy::all;
  whole.make().run();
  const fs::path parts = run.folder() / "parts";
  {
    SmallTraining first(config, parts, false, overflowing({1}));
    std::stop_source stop;
    stop.request_stop();
    Trainer trainer = first.make();
    ASSERT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
  }
  {
    SmallTraining second(config, parts, true, overflowing({0}));
    std::stop_source stop;
    stop.request_stop();
    Trainer trainer = second.make();
    trainer.resume();
    ASSERT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
    ASSERT_EQ(trainer.progress().state.loss_scale, 32768);
    ASSERT_EQ(trainer.progress().state.skips_in_a_row, 1);
  }
  SmallTraining rest(config, parts, true, overflowing({0}));
  Trainer trainer = rest.make();
  trainer.resume();
  trainer.run();
  EXPECT_EQ(trainer.progress().state.skipped, 2);
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(parts / "weights/last.safetensors"));
  EXPECT_EQ(read_metrics_csv(whole.folder.metrics()).rows.size(), 2u);
}

TEST(Overflows, InARowEndTheRunWithSoundWeightsAndAnExplanation) {
  SmallRun run;
  const RunConfig config =
      run.load({"optimizer.loss_scale=65536", "optimizer.max_skips=5", "train.epochs=9", "evaluate.start=9"});
  SmallTraining training(config, run.folder() / "out", false, overflowing({1, 2, 3, 4, 5, 6}));
  Trainer trainer = training.make();
  try {
    trainer.run();
    FAIL() << "it went on";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("5 steps in a row"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("2048"), std::string::npos) << "65536 / 2⁵: " << e.what();
  }
  EXPECT_EQ(trainer.progress().state.applied, 1);
  expect_finite(training.folder.last());
}

TEST(Overflows, LeaveCellsEmptyForAnEpochWithoutAStep) {
  SmallRun run;
  // Three steps an epoch, and all of the second one's overflow; the third epoch alone is evaluated.
  SmallTraining training(run.load({"train.epochs=3", "evaluate.start=3"}), run.folder() / "out", false,
                         overflowing({3, 4, 5}));
  training.watched_by = WatchedBy::all;
  const testing::Logged logged;
  const TrainingEnd end = training.make().run();
  const std::string words = logged.text();
  ASSERT_EQ(end, TrainingEnd::finished);
  EXPECT_NE(words.find("Nothing was learned in epoch 2"), std::string::npos) << words;
  EXPECT_EQ(words.find("Nothing was learned in epoch 3"), std::string::npos) << words;
  const auto table = read_metrics_csv(training.folder.metrics());
  ASSERT_EQ(table.rows.size(), 3u);
  for (const char* name : {"loss", "box_loss", "objectness_loss", "class_loss", "iou"}) {
    const auto column = static_cast<size_t>(table.column(name));
    EXPECT_TRUE(std::isfinite(table.rows[0][column])) << name;
    EXPECT_TRUE(std::isnan(table.rows[1][column])) << name;
  }
  const auto AP = static_cast<size_t>(table.column("AP"));
  EXPECT_TRUE(std::isnan(table.rows[1][AP]));
  EXPECT_FALSE(std::isnan(table.rows[2][AP]));
}

}  // namespace
}  // namespace brightnet::testing
