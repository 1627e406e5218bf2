// A run whose input grows (train.grow): at which size it trains and evaluates, what counts, and what is saved.
#include <gtest/gtest.h>

#include "detect/evaluate/evaluate.h"
#include "detect/inference.h"
#include "formats/weights.h"
#include "tests/logged.h"
#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

/// 12 images in batches of 4, three steps an epoch: half of them at 32 pixels, the rest at 64.
std::vector<std::string> growing(int epochs, std::vector<std::string> more = {}) {
  std::vector<std::string> all{"train.epochs=" + std::to_string(epochs), "train.sizes=[32, 64]",
                               "train.grow=0.5", "evaluate.smooth=1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class SizeWatcher : public TrainingObserver {
 public:
  std::string name() const override { return "a watcher"; }
  void step_done(const StepDone& event) override {
    if (event.status.iteration == stop_at) stop.request_stop();
  }
  void evaluated(const Evaluated& event) override {
    sizes.push_back(event.status.evaluation_size.height);
    losses.push_back(event.metrics.loss->box);
  }
  void best_found(const BestFound& event) override { best.push_back(event.epoch); }

  int64_t stop_at = 0;
  std::stop_source stop;
  std::vector<int> sizes, best;
  std::vector<double> losses;
};

/// A run of these options from its beginning, or resumed.
struct GrowingRun {
  GrowingRun(const SmallRun& run, const std::vector<std::string>& options, bool old = false,
             WatchedBy watched_by = WatchedBy::all_but_report)
      : training(run.load(options), run.folder() / "out", old, std::make_unique<WatchedBackend>(seen)),
        trainer(watched(watched_by)) {
    if (old) trainer.resume();
  }
  Trainer watched(WatchedBy watched_by) {
    training.watched_by = watched_by;
    training.observers_besides = {&watcher};
    return training.make();
  }
  TrainingEnd train() { return trainer.run(watcher.stop.get_token()); }
  /// Of the coarser head in each step's first micro-batch: its stride is 16.
  std::vector<int> trained_sizes() const {
    std::vector<int> sizes;
    for (size_t i = 0; i < seen.losses.size(); i += 2 * heads)
      sizes.push_back(16 * seen.losses[i].grid_width);
    return sizes;
  }

  SeenWork seen;
  SizeWatcher watcher;
  SmallTraining training;
  Trainer trainer;
};

TEST(GrowingTraining, WhoseTimeAnEvaluationUsesUpIsScoredAtFullSize) {
  const SmallRun run;
  RunConfig config =
      run.load({"train.minutes=10", "train.sizes=[32, 64]", "train.grow=0.5", "train.average=0"});
  config.train.epochs = {};
  SeenWork seen;
  double clock = 0;
  seen.before_loss = [&clock] { clock += 1; };
  seen.before_detection = [&clock] { clock += 1000; };
  SmallTraining training(config, run.folder() / "out", false, std::make_unique<WatchedBackend>(seen));
  training.now = [&clock] { return clock; };
  SizeWatcher watcher;
  training.observers_besides = {&watcher};
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  ASSERT_GE(watcher.sizes.size(), 2u);
  EXPECT_EQ(watcher.sizes.front(), 32);
  EXPECT_EQ(watcher.sizes.back(), 64);
  EXPECT_EQ(load_trained_model(training.folder.last()).size.height, 64);
}

TEST(GrowingTraining, IsEvaluatedAtTheSizeThatIsTrained) {
  const SmallRun run;
  GrowingRun growth(run, growing(4), false, WatchedBy::all);
  ASSERT_EQ(growth.train(), TrainingEnd::finished);
  EXPECT_EQ(growth.trained_sizes(), (std::vector<int>{32, 32, 32, 32, 32, 32, 64, 64, 64, 64, 64, 64}));
  EXPECT_EQ(growth.watcher.sizes, (std::vector<int>{32, 32, 64, 64}));
  const MetricsTable table = read_metrics_csv(growth.training.folder.metrics());
  EXPECT_EQ(table.input_growth(), std::vector<double>{2});
  EXPECT_EQ(table.comparable_after(), 2);
}

TEST(GrowingTraining, CountsTheScoresOfTheFullSizeAlone) {
  const SmallRun run;
  // Scores of 0 throughout: without better ones, patience would end the run in its second epoch.
  GrowingRun growth(run, growing(8, {"train.patience=2", "evaluate.nms.score=0.99", "train.average=4"}));
  ASSERT_EQ(growth.train(), TrainingEnd::no_better);
  EXPECT_EQ(growth.trainer.progress().epoch, 7u) << "the first at full size, and two that are no better";
  EXPECT_EQ(growth.trainer.progress().best_epoch, 5);
  EXPECT_EQ(growth.watcher.best, (std::vector<int>{1, 5}));
  for (const KeptSet& kept : growth.trainer.progress().kept) EXPECT_GT(kept.iteration, 12);
  EXPECT_EQ(load_trained_model(growth.training.folder.best()).size, InputSize(64));
}

TEST(GrowingTraining, ThatEndsBeforeItsInputHasGrownIsScoredAtFullSize) {
  const SmallRun run;
  GrowingRun growth(run, growing(1, {"train.grow=0.9"}));
  ASSERT_EQ(growth.train(), TrainingEnd::finished);
  EXPECT_EQ(growth.trained_sizes(), (std::vector<int>{32, 32, 32})) << "nine tenths of three steps";
  EXPECT_EQ(growth.watcher.sizes, std::vector<int>{64});
  for (const auto& file : {growth.training.folder.last(), growth.training.folder.best()})
    EXPECT_EQ(load_trained_model(file).size, InputSize(64));
}

TEST(GrowingTraining, AnInterruptedRunLeavesWeightsForTheSizeTheyWereTrainedAt) {
  const SmallRun run;
  GrowingRun growth(run, growing(4));
  growth.watcher.stop_at = 4;
  ASSERT_EQ(growth.train(), TrainingEnd::interrupted);
  for (const auto& file : {growth.training.folder.last(), growth.training.folder.best()}) {
    EXPECT_EQ(load_trained_model(file).size, InputSize(32));
  }
  // As the run scored them.
  const auto backend = make_cpu_backend();
  InferenceNetwork network(load_trained_model(growth.training.folder.best()), *backend,
                           {.batch = 2, .with_loss = true});
  const auto metrics = evaluate(network.engine(), growth.training.val, network.fit(), {});
  ASSERT_TRUE(metrics);
  EXPECT_NEAR(metrics->loss->box, growth.watcher.losses.at(0), 1e-5 * metrics->loss->box);
}

TEST(GrowingTraining, ResumesInTheSizeAndWithTheScoresItHad) {
  const SmallRun run;
  GrowingRun whole(run, growing(4));
  ASSERT_EQ(whole.train(), TrainingEnd::finished);
  const auto expected = tensors_of(whole.training.folder.last());
  std::filesystem::remove_all(run.folder() / "out");
  std::vector<int> sizes;
  for (const int64_t stop_at : {2, 5, 7, 10, 0}) {
    GrowingRun part(run, growing(4), stop_at > 2 || stop_at == 0);
    part.watcher.stop_at = stop_at;
    ASSERT_EQ(part.train(), stop_at > 0 ? TrainingEnd::interrupted : TrainingEnd::finished);
    sizes.insert(sizes.end(), part.watcher.sizes.begin(), part.watcher.sizes.end());
    if (stop_at == 0) {
      EXPECT_EQ(tensors_of(part.training.folder.last()), expected);
    }
  }
  EXPECT_EQ(sizes, (std::vector<int>{32, 32, 64, 64}));
}

// The state of a version whose inputs did not grow says nothing of it.
TEST(GrowingTraining, FindsTheSizeOfAStateThatDoesNotNameIt) {
  for (const auto& [stop_at, done, stage] : {std::tuple{2, 3, 0}, {5, 6, 0}, {7, 8, 1}}) {
    const SmallRun run;
    {
      GrowingRun part(run, growing(4));
      part.watcher.stop_at = stop_at;
      ASSERT_EQ(part.train(), TrainingEnd::interrupted);
      ASSERT_EQ(part.trainer.progress().iteration, done);
      change_state(part.training, [](RunState& state) { state.progress.input_stage = -1; });
    }
    const GrowingRun rest(run, growing(4), true);
    EXPECT_EQ(rest.trainer.progress().input_stage, stage)
        << "after " << done << " steps, of which six are small";
  }
}

TEST(GrowingTraining, ARunThatIsMadeLongerGoesBackToNothing) {
  const SmallRun run;
  const std::vector<std::string> simota{"head.assignment=simota", "train.static_assignment=0.5"};
  {
    GrowingRun first(run, growing(2, simota));
    ASSERT_EQ(first.train(), TrainingEnd::finished);
    EXPECT_EQ(first.seen.losses.front().assignment, AssignmentKind::neighbours);
    EXPECT_EQ(first.seen.losses.back().assignment, AssignmentKind::simota);
  }
  GrowingRun rest(run, growing(8, simota), true);
  ASSERT_EQ(rest.train(), TrainingEnd::finished);
  EXPECT_EQ(rest.trained_sizes(), std::vector<int>(18, 64));
  for (const SeenLoss& loss : rest.seen.losses) EXPECT_EQ(loss.assignment, AssignmentKind::simota);
}

TEST(GrowingTraining, SaysFromWhichStepOnNothingIsComparableWithWhatWasBefore) {
  const SmallRun run;
  GrowingRun growth(run, growing(2, {"head.assignment=simota", "train.static_assignment=0.5"}));
  const Logged logged;
  ASSERT_EQ(growth.train(), TrainingEnd::finished);
  for (const char* part : {"From step 4 of 6 on, the loss assigns fewer and better predictions",
                           "From step 4 on, the input of training and evaluation is 64x64"})
    EXPECT_NE(logged.text().find(part), std::string::npos) << part << " is not in: " << logged.text();
}

}  // namespace
}  // namespace brightnet::testing
