// What a run tells TensorBoard.
#include <cmath>

#include "tests/train/report/event_files.h"
#include "tests/train/small_training.h"
#include "train/report/metrics_csv.h"
#include "train/report/report_observer.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// The values of a scalar that TensorBoard shows of a run.
std::vector<float> scalars(const fs::path& run, const std::string& tag) {
  std::vector<float> values;
  for (const auto& [step, value] : shown_curve(run, tag)) values.push_back(value);
  return values;
}

TEST(TrainerReport, HasTheGradientsNormAndTheClippedShareWithinEpochs) {
  SmallRun run;
  SeenWork seen;
  SmallTraining training(run.load({"optimizer.clip=1e-9", "train.log_every=1e-6", "train.epochs=1"}),
                         run.folder() / "out", false, std::make_unique<WatchedBackend>(seen));
  training.watched_by = WatchedBy::all;
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  const auto norms = scalars(training.folder.path(), "step/gradient_norm");
  ASSERT_GE(norms.size(), 1u);
  for (size_t i = 0; i < norms.size(); ++i) EXPECT_FLOAT_EQ(norms[i], static_cast<float>(seen.norms[i]));
  EXPECT_EQ(scalars(training.folder.path(), "step/clipped"), std::vector<float>(norms.size(), 1));
}

/// The steps at which TensorBoard shows a scalar of the run.
std::vector<int64_t> shown_steps(const SmallTraining& training, const std::string& tag) {
  std::vector<int64_t> steps;
  for (const auto& [step, value] : shown_curve(training.folder.path(), tag)) steps.push_back(step);
  return steps;
}

/// Those of the rows of its table, whose epochs have three.
std::vector<int64_t> steps_of_table(const SmallTraining& training) {
  const MetricsTable table = read_metrics_csv(training.folder.metrics());
  std::vector<int64_t> steps;
  for (const auto& row : table.rows) steps.push_back(std::lround(3 * table.value(row, "epoch")));
  return steps;
}

TEST(TrainerReport, TensorBoardShowsEveryRowOfARunHoweverItWasResumed) {
  SmallRun run;
  SmallTraining first(run.load({"train.epochs=2", "train.average=0"}), run.folder() / "out");
  first.watched_by = WatchedBy::all;
  ASSERT_EQ(first.make().run(), TrainingEnd::finished);
  const auto resume = [&](int epochs, bool stopped) {
    SmallTraining longer(run.load({"train.epochs=" + std::to_string(epochs), "train.average=0"}),
                         first.folder.path(), true);
    longer.watched_by = WatchedBy::all;
    Trainer trainer = longer.make();
    trainer.resume();
    std::stop_source stop;
    if (stopped) stop.request_stop();
    ASSERT_EQ(trainer.run(stop.get_token()), stopped ? TrainingEnd::interrupted : TrainingEnd::finished);
    for (const char* tag : {"val/AP", "train/loss"})
      EXPECT_EQ(shown_steps(longer, tag), steps_of_table(longer)) << tag;
  };
  resume(3, false);
  resume(4, true);  // after a step of the fourth
  resume(4, false);
  EXPECT_EQ(steps_of_table(first), (std::vector<int64_t>{3, 6, 9, 12}));
}

// What a run has left behind that ended before its first save is no part of it.
TEST(TrainerReport, TensorBoardShowsARunThatBeganAgainOnce) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=2", "train.average=0"});
  SmallTraining first(config, run.folder() / "out");
  first.watched_by = WatchedBy::all;
  ASSERT_EQ(first.make().run(), TrainingEnd::finished);
  SmallTraining again(config, run.folder() / "out", true);
  again.watched_by = WatchedBy::all;
  ASSERT_EQ(again.make().run(), TrainingEnd::finished);
  EXPECT_EQ(shown_steps(again, "val/AP"), steps_of_table(again));
}

TEST(TrainerReport, HasTheMeansSinceItsLastPointInEveryEpoch) {
  SmallRun run;
  double clock = 1000;
  SmallTraining training(run.load({"train.log_every=1"}), run.folder() / "out");
  training.watched_by = WatchedBy::all;
  training.now = [&clock] { return clock; };
  const Trainer trainer = training.make();
  ReportObserver observer(*training.setup, training.layout, {});
  TrainingStatus status;
  status.epoch = 1;
  status.epochs = 2;
  observer.run_began({.status = status});
  // The sums of the epoch after so many of its steps, of four images each.
  const auto step = [&](int64_t steps, double norm, double seconds) {
    clock += 10;
    ++status.iteration;
    status.step = steps;
    status.losses.images = status.sums.images = 4.0 * static_cast<double>(steps);
    status.losses.steps = static_cast<double>(steps);
    status.losses.norm = norm;
    status.sums.seconds = seconds;
    observer.step_done({status});
  };
  step(1, 2, 1);
  step(2, 2 + 3, 1 + 2);
  status.step = 0;
  status.epochs_done = 1;
  observer.epoch_ended({status, nullptr});
  step(1, 5, 4);
  step(2, 5 + 7, 4 + 8);
  EXPECT_EQ(scalars(training.folder.path(), "step/gradient_norm"), (std::vector<float>{2, 3, 5, 7}));
  EXPECT_EQ(scalars(training.folder.path(), "step/images_per_s"), (std::vector<float>{4, 2, 1, 0.5}));
}

TEST(TrainerReport, SaysThatTheTrainingHasEndedOnceItHas) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=1", "train.average=0"});
  const auto has_ended = [](const SmallTraining& training) {
    return read_file(training.folder.file("report.html")).find("training has ended") != std::string::npos;
  };
  {
    SmallTraining training(config, run.folder() / "out");
    training.watched_by = WatchedBy::all;
    std::stop_source stop;
    stop.request_stop();
    ASSERT_EQ(training.make().run(stop.get_token()), TrainingEnd::interrupted);
    EXPECT_FALSE(has_ended(training));
  }
  SmallTraining training(config, run.folder() / "out", true);
  training.watched_by = WatchedBy::all;
  Trainer trainer = training.make();
  trainer.resume();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_TRUE(has_ended(training));
}

}  // namespace
}  // namespace brightnet::testing
