// After which steps and epochs a run saves and evaluates.
#include <gtest/gtest.h>

#include "tests/train/small_training.h"
#include "train/distributed/solo.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Watcher : public TrainingObserver {
 public:
  std::string name() const override { return "the watcher"; }
  void run_began(const RunBegan& event) override { seconds_left_at_first = event.status.seconds_left; }
  void step_done(const StepDone&) override {
    if (after_step) after_step();
  }
  void evaluated(const Evaluated& event) override { evaluated_epochs.push_back(event.status.epochs_done); }

  std::function<void()> after_step;
  std::vector<double> evaluated_epochs;
  double seconds_left_at_first = -1;
};

TEST(TrainerCadence, SavesWhenTheStateIsAsOldAsAsked) {
  const SmallRun run;
  // Twelve steps an epoch, of ten seconds each. Nothing is evaluated before the end.
  SeenWork seen;
  double clock = 0;
  seen.before_loss = [&clock] { clock += 10.0 / heads; };
  SmallTraining training(run.load({"train.batch=1", "train.micro_batch=1", "train.save_every=50",
                                   "evaluate.start=9", "train.average=0"}),
                         run.folder() / "out", false, std::make_unique<WatchedBackend>(seen));
  training.now = [&clock] { return clock; };
  training.watched_by = WatchedBy::nobody;
  Watcher watcher;
  std::vector<std::string> saved;
  watcher.after_step = [&] {
    const fs::path file = training.folder.last();
    saved.push_back(fs::exists(file) ? load_trained_model(file).training.at("iteration") : "-");
  };
  training.observers_besides = {&watcher};
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  // Every fifth step, and at the end of the first epoch, but not of every one.
  EXPECT_EQ(saved, (std::vector<std::string>{"-",  "-",  "-",  "-",  "-",  "5",  "5",  "5",
                                             "5",  "5",  "10", "10", "12", "12", "12", "12",
                                             "12", "17", "17", "17", "17", "17", "22", "22"}));
  EXPECT_EQ(load_trained_model(training.folder.last()).training.at("iteration"), "24");
}

TEST(TrainerCadence, SavesAtTheEndOfAnEpochWhereTheStateIsOldEnough) {
  const SmallRun run;
  for (const char* seconds : {"1000", "30"}) {
    SeenWork seen;
    double clock = 0;
    // Three steps an epoch, of which the last one takes 30 seconds.
    seen.before_loss = [&] { clock += seen.losses.size() / (2 * heads) % 3 == 2 ? 30.0 / (2 * heads) : 0; };
    SmallTraining training(run.load({"train.epochs=3", std::string("train.save_every=") + seconds,
                                     "evaluate.start=9", "train.average=0"}),
                           run.folder() / seconds, false, std::make_unique<WatchedBackend>(seen));
    training.now = [&clock] { return clock; };
    training.watched_by = WatchedBy::nobody;
    Watcher watcher;
    std::string saved;
    watcher.after_step = [&] {
      const fs::path file = training.folder.last();
      saved += ' ' + (fs::exists(file) ? load_trained_model(file).training.at("iteration") : "-");
    };
    training.observers_besides = {&watcher};
    ASSERT_EQ(training.make().run(), TrainingEnd::finished);
    EXPECT_EQ(saved, std::string(seconds) == "30" ? " - - - 3 3 3 6 6 6" : " - - - 3 3 3 3 3 3");
  }
}

/// Of one rank, which has waited for a quarter of the time.
class WaitingCollectives : public SoloCollectives {
 public:
  explicit WaitingCollectives(const double& clock) : clock_(clock) {}
  double waited_seconds() override { return 0.25 * clock_; }

 private:
  const double& clock_;
};

TEST(TrainerCadence, TellsTheTimesOfItsStepsWithoutThoseOfItsEvaluations) {
  const SmallRun run;
  SeenWork seen;
  double clock = 1000;
  seen.before_loss = [&clock] { clock += 10.0 / (2 * heads); };
  seen.before_detection = [&clock] { clock += 7; };
  SmallTraining training(run.load({"train.average=0"}), run.folder() / "out", false,
                         std::make_unique<WatchedBackend>(seen));
  training.watched_by = WatchedBy::all;
  training.now = [&clock] { return clock; };
  WaitingCollectives collectives(clock);
  ASSERT_EQ(training.make(&collectives).run(), TrainingEnd::finished);
  const MetricsTable table = read_metrics_csv(training.folder.metrics());
  ASSERT_EQ(table.rows.size(), 2u);
  for (const auto& row : table.rows) {
    EXPECT_NEAR(table.value(row, "seconds"), 30, 1e-4) << "three steps";
    EXPECT_NEAR(table.value(row, "images_per_s"), 12 / 30.0, 1e-6);
    EXPECT_NEAR(table.value(row, "comm_wait"), 0.25, 1e-6);
    EXPECT_LT(table.value(row, "data_wait"), 0.2) << "of another clock";
  }
}

TEST(TrainerCadence, ExpectsWhatTheStepsOfTheEpochTookOfARunThatIsResumedWithinIt) {
  const SmallRun run;
  const RunConfig config = run.load({"train.epochs=3", "evaluate.start=9", "train.average=0"});
  SeenWork seen;
  double clock = 1000;
  seen.before_loss = [&clock] { clock += 10.0 / (2 * heads); };
  Watcher watcher;
  for (const bool old : {false, true}) {
    SmallTraining training(config, run.folder() / "out", old, std::make_unique<WatchedBackend>(seen));
    training.now = [&clock] { return clock; };
    training.watched_by = WatchedBy::nobody;
    training.observers_besides = {&watcher};
    std::stop_source stop;
    int steps = 0;
    watcher.after_step = [&] {
      if (!old && ++steps == 4) stop.request_stop();
    };
    Trainer trainer = training.make();
    if (old) trainer.resume();
    ASSERT_EQ(trainer.run(stop.get_token()), old ? TrainingEnd::finished : TrainingEnd::interrupted);
    if (!old) {
      ASSERT_EQ(trainer.progress().iteration, 5) << "the second of the three steps of its epoch";
    }
  }
  EXPECT_NEAR(watcher.seconds_left_at_first, 40, 1e-6) << "four steps of ten seconds";
}

TEST(TrainerCadence, EvaluatesTheEpochsThatItWasTold) {
  const SmallRun run;
  const auto evaluated = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"train.epochs=6", "train.average=0"});
    SmallTraining training(run.load(options), run.folder() / "out");
    training.watched_by = WatchedBy::nobody;
    Watcher watcher;
    training.observers_besides = {&watcher};
    EXPECT_EQ(training.make().run(), TrainingEnd::finished);
    fs::remove_all(training.folder.path());
    return watcher.evaluated_epochs;
  };
  EXPECT_EQ(evaluated({"evaluate.every=2", "evaluate.start=1"}), (std::vector<double>{1, 3, 5, 6}));
  EXPECT_EQ(evaluated({"evaluate.every=2", "evaluate.start=2"}), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(evaluated({"evaluate.every=3", "evaluate.start=4"}), (std::vector<double>{4, 6}));
}

}  // namespace
}  // namespace brightnet::testing
