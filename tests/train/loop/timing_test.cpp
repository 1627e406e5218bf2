// What a trainer asks of the device from step to step: its rates, its input sizes, and how many steps
// there are.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/logged.h"
#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Backend> watched(SeenWork& seen) {
  return std::make_unique<WatchedBackend>(seen);
}

/// Stops the run after the step in which the loss is computed for the n-th time, counted from 1.
void stop_in_loss(SeenWork& seen, size_t n) {
  seen.before_loss = [&seen, n] {
    if (seen.losses.size() + 1 == n) seen.stop.request_stop();
  };
}

TEST(TrainerPace, EachStepHasTheScheduledRateOfItsIteration) {
  const SmallRun run;
  const RunConfig config = run.load({"train.epochs=4", "schedule.warmup=1", "schedule.final=0.1"});
  constexpr int64_t steps_per_epoch = 3, steps = 12;
  SeenWork seen;
  SmallTraining whole(config, run.folder() / "whole", false, watched(seen));
  whole.watched_by = WatchedBy::all;
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);
  ASSERT_EQ(seen.rates.size(), size_t{steps});
  const Schedule schedule(config.schedule, config.optimizer.rate, steps_per_epoch, steps);
  for (int64_t i = 0; i < steps; ++i)
    EXPECT_FLOAT_EQ(seen.rates[static_cast<size_t>(i)], schedule.rate(i)) << "step " << i;
  EXPECT_FLOAT_EQ(seen.rates[2], 0.02f) << "the end of the burn-in";
  EXPECT_LT(seen.rates.back(), 0.1f * 0.02f * 1.3f) << "the end of the run";

  // What people read is what the device computed with.
  const auto table = read_metrics_csv(whole.folder.metrics());
  const auto column = static_cast<size_t>(table.column("learning_rate"));
  ASSERT_EQ(table.rows.size(), 4u);
  for (size_t epoch = 0; epoch < 4; ++epoch)
    EXPECT_NEAR(table.rows[epoch][column], seen.rates[3 * epoch + 2], 1e-5 * seen.rates[3 * epoch + 2]);
}

/// Preparing the first evaluation takes 100 s, as timing convolutions on a GPU may.
class SlowlyPrepared : public WatchedBackend {
 public:
  SlowlyPrepared(SeenWork& seen, double& clock) : WatchedBackend(seen), work_(seen), clock_(clock) {}
  void cast_all(std::span<const CastPair> pairs) override {
    WatchedBackend::cast_all(pairs);
    if (work_.rates.size() == 3 && !std::exchange(prepared_, true)) clock_ += 100;
  }
  bool prepared() const { return prepared_; }

 private:
  SeenWork& work_;
  double& clock_;
  bool prepared_ = false;
};

TEST(TrainerPace, AnEvaluationIsNotAsLongAsChoosingItsConvolutionsOnce) {
  const SmallRun run;
  SeenWork seen;
  double clock = 0;
  seen.before_loss = [&clock] { clock += 0.1; };
  seen.before_detection = [&clock] { clock += 0.5; };
  auto backend = std::make_unique<SlowlyPrepared>(seen, clock);
  const SlowlyPrepared& slowly = *backend;
  SmallTraining training(run.load({"train.epochs=1"}), run.folder() / "out", false, std::move(backend));
  training.now = [&clock] { return clock; };
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  ASSERT_TRUE(slowly.prepared());
  EXPECT_GT(trainer.progress().times.evaluation, 0);
  EXPECT_LT(trainer.progress().times.evaluation, 50);
  EXPECT_GT(trainer.progress().times.used, 100) << "it is the run's time";
}

TEST(TrainerPace, AResumedRunGoesOnWithTheRatesOfAWholeOne) {
  const SmallRun run;
  const RunConfig config = run.load({"train.epochs=3", "evaluate.start=3"});
  SeenWork whole, first, rest;
  SmallTraining(config, run.folder() / "whole", false, watched(whole)).make().run();
  {
    SmallTraining training(config, run.folder() / "parts", false, watched(first));
    stop_in_loss(first, 4 * 2 * heads + 1);  // in the fifth step, which is in the second epoch
    ASSERT_EQ(training.make().run(first.stop.get_token()), TrainingEnd::interrupted);
  }
  ASSERT_EQ(first.rates.size(), 5u);
  SmallTraining training(config, run.folder() / "parts", true, watched(rest));
  Trainer trainer = training.make();
  trainer.resume();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  first.rates.insert(first.rates.end(), rest.rates.begin(), rest.rates.end());
  EXPECT_EQ(first.rates, whole.rates);
}

TEST(TrainerPace, AllMicroBatchesOfSizeEveryStepsHaveOneInputSize) {
  const SmallRun run;
  for (const size_t size_every : {1, 2}) {
    for (const size_t parts : {2, 4}) {
      SeenWork seen;
      SmallTraining training(run.load({"train.epochs=4", "train.sizes=[64, 96]", "evaluate.start=4",
                                       "train.size_every=" + std::to_string(size_every),
                                       "train.micro_batch=" + std::to_string(4 / parts)}),
                             run.folder() / "out", false, watched(seen));
      ASSERT_EQ(training.make().run(), TrainingEnd::finished);
      const size_t step = heads * parts, block = size_every * step;
      ASSERT_EQ(seen.losses.size(), 12 * step);
      std::set<int> sizes;
      for (size_t i = 0; i < seen.losses.size(); ++i) {
        sizes.insert(seen.losses[i].input_width);
        ASSERT_EQ(seen.losses[i].input_width, seen.losses[i / block * block].input_width)
            << "step " << i / step << ", size_every " << size_every << ", " << parts << " micro-batches";
      }
      EXPECT_EQ(sizes, (std::set<int>{64, 96}));
    }
  }
}

/// A run of the small model whose clock goes on with its work alone, so that two minutes are over at once: with
/// each step for so many seconds, and for `evaluation` seconds with each evaluation.
struct TimedTraining {
  TimedTraining(const RunConfig& run_config, const fs::path& path, bool old, double& clock,
                const std::function<double(int64_t step)>& seconds, double evaluation = 1)
      : training(run_config, path, old, watched(seen)),
        detections_each(heads * training.val.images.size() /
                        static_cast<size_t>(run_config.train.micro_batch)) {
    training.now = [&clock] { return clock; };
    constexpr size_t losses = 2 * heads;  // two micro-batches a step
    seen.before_loss = [this, &clock, seconds] {
      clock += seconds(static_cast<int64_t>(seen.losses.size() / losses)) / losses;
      if (seen.losses.size() == stop_in_step * losses) seen.stop.request_stop();
    };
    seen.before_detection = [this, &clock, evaluation] {
      clock += evaluation / static_cast<double>(detections_each);
      ++detections;
    };
  }
  size_t evaluations() const { return detections / detections_each; }

  SeenWork seen;
  SmallTraining training;
  size_t detections_each, stop_in_step = 1'000'000, detections = 0;
};

/// What `schedule` makes of these plans.
std::vector<float> planned_rates(const RunConfig& config, int64_t bound, const Progress& progress) {
  Schedule schedule(config.schedule, config.optimizer.rate, 3, bound);
  std::vector<float> rates;
  auto plan = progress.plans.begin();
  for (int64_t step = 0; step < progress.iteration; ++step) {
    for (; plan != progress.plans.end() && plan->made_at <= step; ++plan)
      schedule.change_total(plan->made_at, plan->steps, 0.1);
    rates.push_back(schedule.rate(step));
  }
  return rates;
}

/// The first epochs are slow, then the machine is fast, and slow again for the last part.
double uneven(int64_t step) {
  return step < 12 ? 3.0 : step < 50 ? 1.0 : 1.5;
}

TEST(TrainerPace, SpendsItsMinutesByPlanningAnew) {
  const SmallRun run;
  RunConfig config =
      run.load({"train.epochs=100000", "train.minutes=2", "evaluate.every=6", "train.average=0"});
  double clock = 5000;
  TimedTraining timed(config, run.folder() / "out", false, clock, uneven);
  timed.training.watched_by = WatchedBy::all;
  Trainer trainer = timed.training.make();
  std::string said;
  {
    const Logged logged;
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    said = logged.text();
  }
  EXPECT_GE(clock, 5000 + 0.9 * 120);
  EXPECT_LE(clock, 5000 + 120);

  const Progress& progress = trainer.progress();
  ASSERT_GE(progress.plans.size(), 2u);
  EXPECT_LE(progress.plans[0].made_at, 20);
  const std::string fits = fmt::format("About {:.0f} epochs fit into train.minutes = 2.",
                                       static_cast<double>(progress.plans[0].steps) / 3);
  EXPECT_NE(said.find(fits), std::string::npos) << fits << " is not in: " << said;
  EXPECT_LT(progress.plans[0].steps, progress.plans.back().steps) << "it became faster";
  EXPECT_EQ(progress.iteration, progress.plans.back().steps);
  EXPECT_EQ(timed.seen.rates.size(), static_cast<size_t>(progress.iteration));
  EXPECT_EQ(timed.seen.rates, planned_rates(config, 300'000, progress));
  EXPECT_LT(timed.seen.rates.back(), 0.02f * timed.seen.rates[20]) << "it has decayed";
  EXPECT_EQ(progress.epoch, progress.iteration / 3);
  const auto epochs = static_cast<size_t>((progress.iteration + 2) / 3);  // the part of one is evaluated, too
  const MetricsTable table = read_metrics_csv(timed.training.folder.metrics());
  EXPECT_EQ(table.rows.size(), epochs);
  EXPECT_NEAR(table.rows.back()[0], static_cast<double>(progress.iteration) / 3, 1e-6);
  EXPECT_EQ(timed.evaluations(), (epochs - 1) / 6 + 1 + ((epochs - 1) % 6 > 0 ? 1 : 0));

  // The end of the plan is the end of the run.
  SmallTraining again(config, timed.training.folder.path(), true);
  Trainer resumed = again.make();
  resumed.resume();
  EXPECT_TRUE(resumed.over());
  EXPECT_EQ(resumed.run(), TrainingEnd::finished);
  EXPECT_EQ(resumed.progress().iteration, progress.iteration);
}

TEST(TrainerPace, WarmsUpForATenthOfItsMinutesAtMost) {
  const SmallRun run;
  // 60 steps, which are half of those that two minutes have.
  const RunConfig config = run.load({"train.epochs=100000", "train.minutes=2", "evaluate.every=50",
                                     "train.average=0", "schedule.warmup=20", "schedule.power=1"});
  double clock = 0;
  TimedTraining timed(config, run.folder() / "out", false, clock, [](int64_t) { return 1.0; });
  Trainer trainer = timed.training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  const std::vector<float>& rates = timed.seen.rates;
  EXPECT_EQ(rates, planned_rates(config, 300'000, trainer.progress()));
  EXPECT_LE(std::max_element(rates.begin(), rates.end()) - rates.begin(), 25);
  EXPECT_FLOAT_EQ(*std::max_element(rates.begin(), rates.end()), 0.02f);
}

TEST(TrainerPace, SpendsItsMinutesWithTheEvaluationOfTheAverageWhereThereIsOne) {
  // With 120 validation images a run of two minutes expects 15 s of an evaluation, and times one.
  const SmallRun run(12, 120);
  RunConfig config = run.load({"train.minutes=2", "optimizer.rate=1e-20"});
  config.train.epochs = {};
  config.evaluate.every = {};
  ASSERT_GE(config.train.average, 2);
  for (const double evaluation : {2, 30}) {
    SCOPED_TRACE(evaluation);
    double clock = 0;
    TimedTraining timed(
        config, run.folder() / "out", false, clock, [](int64_t) { return 1.0; }, evaluation);
    Trainer trainer = timed.training.make();
    std::string said;
    {
      const Logged logged;
      ASSERT_EQ(trainer.run(), TrainingEnd::finished);
      said = logged.text();
    }
    EXPECT_EQ(said.find("25 % of train.minutes = 2: few evaluations fit") != std::string::npos,
              evaluation == 30)
        << said;
    EXPECT_GE(clock, 0.9 * 120);
    EXPECT_LE(clock, 120);
    EXPECT_EQ(trainer.progress().averaged, evaluation < 30);
    EXPECT_EQ(timed.evaluations() == 1, evaluation == 30) << timed.evaluations();
    EXPECT_LT(trainer.progress().plans[0].steps, evaluation < 30 ? 115 : 90)
        << "it is timed before the first plan";
    fs::remove_all(timed.training.folder.path());
  }
}

TEST(TrainerPace, AResumedRunRepeatsThePlansAndHasTheMinutesThatAreLeft) {
  const SmallRun run;
  const RunConfig config =
      run.load({"train.epochs=100000", "train.minutes=2", "evaluate.every=6", "train.average=0"});
  double clock = 100;
  TimedTraining first(config, run.folder() / "out", false, clock, uneven);
  first.stop_in_step = 40;
  Trainer stopped = first.training.make();
  ASSERT_EQ(stopped.run(first.seen.stop.get_token()), TrainingEnd::interrupted);
  const double used = clock - 100;
  const std::vector<Plan> before = stopped.progress().plans;
  ASSERT_GE(before.size(), 2u);

  clock += 1e6;
  TimedTraining rest(config, run.folder() / "out", true, clock, [](int64_t) { return 0.5; });
  Trainer resumed = rest.training.make();
  resumed.resume();
  ASSERT_EQ(resumed.progress().plans, before);
  EXPECT_NEAR(resumed.progress().times.used, used, 1e-6);
  EXPECT_EQ(resumed.progress().times.evaluation, 1);
  ASSERT_EQ(resumed.run(), TrainingEnd::finished);
  EXPECT_GE(clock, 1e6 + 100 + 0.9 * 120);
  EXPECT_LE(clock, 1e6 + 100 + 120);

  const Progress& progress = resumed.progress();
  EXPECT_GT(progress.plans.size(), before.size()) << "it is faster now";
  std::vector<float> rates = first.seen.rates;
  rates.insert(rates.end(), rest.seen.rates.begin(), rest.seen.rates.end());
  EXPECT_EQ(rates, planned_rates(config, 300'000, progress));
}

TEST(TrainerPace, ARunThatIsResumedWithALengthHasItInThePlaceOfItsPlans) {
  const SmallRun run;
  const std::vector<std::string> both{"evaluate.every=6", "train.average=0"};
  std::vector<std::string> minutes = both, epochs = both;
  minutes.insert(minutes.end(), {"train.epochs=100000", "train.minutes=2"});
  epochs.insert(epochs.end(), {"train.epochs=10", "train.minutes=0"});
  double clock = 0;
  const auto one_second = [](int64_t) { return 1.0; };
  TimedTraining first(run.load(minutes), run.folder() / "out", false, clock, one_second);
  first.stop_in_step = 24;
  Trainer stopped = first.training.make();
  ASSERT_EQ(stopped.run(first.seen.stop.get_token()), TrainingEnd::interrupted);
  ASSERT_FALSE(stopped.progress().plans.empty());
  const int64_t done = stopped.progress().iteration;
  ASSERT_LT(done, 27);

  const RunConfig config = run.load(epochs);
  TimedTraining rest(config, run.folder() / "out", true, clock, one_second);
  Trainer resumed = rest.training.make();
  resumed.resume();
  EXPECT_TRUE(resumed.progress().plans.empty());
  ASSERT_EQ(resumed.run(), TrainingEnd::finished);
  EXPECT_EQ(resumed.progress().epoch, 10);
  EXPECT_EQ(resumed.progress().iteration, 30);
  const Schedule schedule(config.schedule, config.optimizer.rate, 3, 30);
  ASSERT_EQ(rest.seen.rates.size(), static_cast<size_t>(30 - done));
  for (size_t i = 0; i < rest.seen.rates.size(); ++i)
    EXPECT_FLOAT_EQ(rest.seen.rates[i], schedule.rate(done + static_cast<int64_t>(i))) << "step " << i;
}

/// Of which step the saved state is at the first step after a best evaluation; 0: there is none.
class StateAfterTheBest : public TrainingObserver {
 public:
  explicit StateAfterTheBest(const RunFolder& folder) : folder_(folder) {}
  std::string name() const override { return "the watcher of saved states"; }
  void best_found(const BestFound& event) override { best_ = event.status.iteration; }
  void step_done(const StepDone&) override {
    if (best_ == 0) return;
    best.push_back(std::exchange(best_, 0));
    saved.push_back(fs::exists(folder_.state()) ? read_state(folder_.state()).progress.iteration : 0);
  }

  std::vector<int64_t> best, saved;

 private:
  const RunFolder& folder_;
  int64_t best_ = 0;
};

TEST(TrainerPace, SavesItsStateAfterABestEvaluationWithinAnEpoch) {
  const SmallRun run(160);
  RunConfig config = run.load({"train.minutes=0.5", "train.average=0", "train.save_every=1e9"});
  config.train.epochs = {};
  config.evaluate.every = {};
  double clock = 0;
  TimedTraining timed(config, run.folder() / "out", false, clock, [](int64_t) { return 0.5; });
  StateAfterTheBest watcher(timed.training.folder);
  timed.training.watched_by = WatchedBy::nobody;
  timed.training.observers_besides = {&watcher};
  ASSERT_EQ(timed.training.make().run(), TrainingEnd::finished);
  ASSERT_FALSE(watcher.best.empty()) << "the first evaluation is the best so far";
  EXPECT_LT(watcher.best[0], 40) << "within the first epoch";
  EXPECT_EQ(watcher.saved, watcher.best);
}

TEST(TrainerPace, EvaluatesWithinAnEpochThatIsLongerThanTheTime) {
  const SmallRun run(160);
  RunConfig config = run.load({"train.minutes=0.5", "train.average=0"});
  config.train.epochs = {};
  config.evaluate.every = {};
  double clock = 0;
  TimedTraining timed(config, run.folder() / "out", false, clock, [](int64_t) { return 0.5; });
  timed.training.watched_by = WatchedBy::all;
  Trainer trainer = timed.training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_GE(clock, 0.9 * 30);
  EXPECT_LE(clock, 30);
  const Progress& progress = trainer.progress();
  EXPECT_EQ(progress.epoch, 1) << "40 steps, and a part of an epoch";
  EXPECT_EQ(timed.evaluations(), 5u);
  EXPECT_GE(progress.best_epoch, 1);
  const MetricsTable table = read_metrics_csv(timed.training.folder.metrics());
  const auto at = [&](size_t row, const char* column) {
    return table.rows[row][static_cast<size_t>(table.column(column))];
  };
  size_t evaluated = 0, epochs = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const bool whole = table.rows[i][0] == std::floor(table.rows[i][0]);
    const bool last = i + 1 == table.rows.size();
    epochs += whole;
    evaluated += !std::isnan(at(i, "AP"));
    EXPECT_GT(table.rows[i][0], i > 0 ? table.rows[i - 1][0] : 0);
    EXPECT_EQ(std::isnan(at(i, "seconds")), !whole && !last);
    EXPECT_EQ(std::isnan(at(i, "AP")), std::isnan(at(i, "val_loss")));
    EXPECT_TRUE(whole || at(i, "val_loss") > 0) << "a row within an epoch is an evaluation's";
    EXPECT_GT(at(i, "loss"), 0);
  }
  EXPECT_EQ(evaluated, 5u) << "a row for each";
  EXPECT_EQ(epochs, 1u);
  EXPECT_NEAR(table.rows.back()[0], static_cast<double>(progress.iteration) / 40, 1e-6);
  EXPECT_TRUE(fs::exists(timed.training.folder.best()));
}

TEST(TrainerPace, HasTheSameSamplesWithAnyNumberOfWorkersWhenPlansMoveTheLastPart) {
  const SmallRun run;
  std::vector<std::map<std::string, std::vector<float>>> weights;
  for (const char* workers :
       {"loader={workers: 0}", "loader={workers: 3, prefetch: 8}", "augment.mosaic_off=0"}) {
    const RunConfig config =
        run.load({"train.epochs=100000", "train.minutes=1", "evaluate.every=50", "train.average=0",
                  "augment.mosaic_off=0.5", "augment.mosaic=1", workers});
    double clock = 0;
    TimedTraining timed(config, run.folder() / "out", false, clock, uneven);
    Trainer trainer = timed.training.make();
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    weights.push_back(tensors_of(timed.training.folder.last()));
    fs::remove_all(timed.training.folder.path());
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_NE(weights[0], weights[2]) << "a last part there is";
}

TEST(TrainerPace, EndsWithoutMosaicEvenARunOfAFewSteps) {
  const SmallRun run;
  std::vector<std::map<std::string, std::vector<float>>> weights;
  for (const char* off : {"augment.mosaic_off=0", "augment.mosaic_off=0.3"}) {
    const RunConfig config = run.load({"train.iterations=5", "augment.mosaic=1", off});
    SmallTraining training(config, run.folder() / "out");
    ASSERT_EQ(training.make().run(), TrainingEnd::finished);
    weights.push_back(tensors_of(training.folder.last()));
    fs::remove_all(training.folder.path());
  }
  EXPECT_NE(weights[0], weights[1]);
}

}  // namespace
}  // namespace brightnet::testing
