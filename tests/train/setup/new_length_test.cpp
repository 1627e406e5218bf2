// Runs that go on with another length (docs/resume.md): the learning rate of their rest.

#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "train/report/metrics_csv.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A part of a run, as `brightnet train` makes it: the first one, with these settings, or one that is resumed with them.
/// A step takes a second.
struct PartOfRun {
  PartOfRun(const SmallRun& small, const fs::path& path, std::vector<std::string> settings, bool old = false,
            size_t steps = 1'000'000) {
    const Logged logged;
    RunRequest request;
    request.resuming = old;
    (old ? request.resume : request.config) = (old ? path : small.config()).string();
    request.overrides.assignments = old ? std::move(settings) : SmallRun::short_run(std::move(settings));
    Communicator& solo = Communicator::solo();
    Preparation run = prepare(request, common_device(solo, [] { return "cpu"; }), solo);
    fit_into_memory(run, solo);
    const RunFolder folder = old ? RunFolder::open(path) : RunFolder::create(path);
    write_description(folder, run, solo);
    run.backend = std::make_unique<WatchedBackend>(seen);
    constexpr size_t losses = 2 * heads;  // of a step
    seen.before_loss = [&] {
      clock += 1.0 / losses;
      if (seen.losses.size() + 1 == steps * losses) seen.stop.request_stop();
    };
    OutputFiles files = without_pauses();
    const TrainingSetup setup{.config = run.config,
                              .model = run.model,
                              .train = run.training,
                              .val = run.validation,
                              .backend = *run.backend,
                              .folder = folder,
                              .files = files,
                              .now = [this] { return clock; }};
    Trainer trainer(setup, *run.layout, run.initial);
    if (old) trainer.resume();
    end = trainer.run(seen.stop.get_token());
    epochs = static_cast<int>(trainer.progress().epoch);
    said = logged.text();
  }

  SeenWork seen;
  double clock = 0;
  TrainingEnd end = TrainingEnd::interrupted;
  int epochs = 0;
  std::string said;
};

const std::vector<std::string> long_run{"train.epochs=100",    "schedule.warmup=10",  "schedule.power=1",
                                        "optimizer.rate=0.02", "evaluate.every=1000", "train.average=0"};

/// That from this step of the part on the rate never rises, and has decayed by its end.
void expect_decay(const std::vector<float>& rates, size_t from = 0) {
  ASSERT_GT(rates.size(), from);
  for (size_t i = from + 1; i < rates.size(); ++i) EXPECT_LE(rates[i], rates[i - 1]) << i;
  EXPECT_LT(rates.back(), 0.002f);
}

TEST(NewLength, OfARunThatIsShortenedInItsWarmUpLeavesATenthOfItToThat) {
  const SmallRun small;
  const fs::path out = small.folder() / "out", parts = small.folder() / "parts";
  // Three steps an epoch.
  const PartOfRun first(small, out, long_run, false, 3);
  EXPECT_FLOAT_EQ(first.seen.rates.back(), 0.002f);
  fs::copy(out, parts, fs::copy_options::recursive);

  const PartOfRun rest(small, out, {"train.epochs=20"}, true);
  EXPECT_EQ(rest.end, TrainingEnd::finished);
  ASSERT_EQ(rest.seen.rates.size(), 57u);
  EXPECT_FLOAT_EQ(rest.seen.rates[0], 0.02f * 4 / 6);
  EXPECT_FLOAT_EQ(rest.seen.rates[2], 0.02f);
  expect_decay(rest.seen.rates, 2);
  EXPECT_NE(rest.said.find("takes 6 steps of the 60 that the run has now, instead of 30"), std::string::npos)
      << rest.said;
  EXPECT_EQ(load_run_config(out / "config.yaml", {}).schedule.warmup, 2.0f);

  // Interrupted once more, within the warm-up, and resumed as it is.
  const PartOfRun second(small, parts, {"train.epochs=20"}, true, 2);
  const PartOfRun third(small, parts, {}, true);
  std::vector<float> rates = second.seen.rates;
  rates.insert(rates.end(), third.seen.rates.begin(), third.seen.rates.end());
  EXPECT_EQ(rates, rest.seen.rates);
  EXPECT_EQ(tensors_of(parts / "weights/last.safetensors"), tensors_of(out / "weights/last.safetensors"));
}

TEST(NewLength, OfARunOfMinutesNeverTakesItsWarmUpAgain) {
  const SmallRun small;
  const fs::path out = small.folder() / "out";
  std::vector<std::string> settings = long_run;
  settings[0] = "train.epochs=100000";
  // 120 steps, twice those that fit.
  settings[1] = "schedule.warmup=40";
  settings.emplace_back("train.minutes=1");
  const PartOfRun first(small, out, settings);
  ASSERT_EQ(first.end, TrainingEnd::finished);
  ASSERT_LT(first.seen.rates.back(), 0.002f);
  for (const int epochs : {first.epochs + 1, first.epochs + 4, 2 * first.epochs}) {
    SCOPED_TRACE(epochs);
    const fs::path longer = small.folder() / std::to_string(epochs);
    fs::copy(out, longer, fs::copy_options::recursive);
    const PartOfRun rest(small, longer, {"train.epochs=" + std::to_string(epochs), "train.minutes=0"}, true);
    ASSERT_EQ(rest.end, TrainingEnd::finished);
    expect_decay(rest.seen.rates);
  }
}

TEST(NewLength, OfARunThatEndedBeforeItsFirstSaveIsThatOfItsWarmUpToo) {
  const SmallRun small;
  const fs::path out = small.folder() / "out";
  const PartOfRun first(small, out, long_run, false, 1);
  RunRequest request;
  request.begin_again = true;
  request.resume = out.string();
  request.overrides.assignments = {"train.epochs=20"};
  Communicator& solo = Communicator::solo();
  const Preparation run = prepare(request, common_device(solo, [] { return "cpu"; }), solo);
  EXPECT_EQ(run.config.schedule.warmup, 2.0f);
}

TEST(NewLength, WarnsOfAWarmUpThatLastsTheWholeRun) {
  const SmallRun small;
  const fs::path out = small.folder() / "out";
  std::vector<std::string> settings = long_run;
  settings[1] = "schedule.warmup=100";
  const PartOfRun first(small, out, settings, false, 1);
  const PartOfRun rest(small, out, {"train.epochs=20"}, true, 1);
  EXPECT_NE(rest.said.find("takes 60 steps and the run has 60 steps"), std::string::npos) << rest.said;
  EXPECT_NE(rest.said.find("never falls"), std::string::npos) << rest.said;
  EXPECT_EQ(rest.said.find("schedule.warmup=auto"), std::string::npos) << "it is refused: " << rest.said;
}

/// Stops a run in the step after this one.
struct StopsAfterStep : TrainingObserver {
  explicit StopsAfterStep(int64_t step) : last(step) {}
  std::string name() const override { return "The test's observer"; }
  void step_done(const StepDone& event) override {
    if (event.status.iteration == last) source.request_stop();
  }
  int64_t last;
  std::stop_source source;
};

// Its last row is of the steps that it has made, at the rates that these had.
TEST(NewLength, OfARunThatIsShortenedToLessThanItHasDoneSaysNothingOfItsRest) {
  const SmallRun small;
  const fs::path out = small.folder() / "out";
  Communicator& solo = Communicator::solo();
  const RankDevice device = common_device(solo, [] { return "cpu"; });
  RunRequest begun;
  begun.config = small.config().string();
  begun.overrides.assignments = SmallRun::short_run(long_run);
  begun.out = out.string();
  StopsAfterStep stop(4);
  TrainingHost host;
  host.can_be_stopped = [&] { return stop.source.get_token(); };
  host.observers = {&stop};
  ASSERT_EQ(run_training(begun, device, solo, host).end, TrainingEnd::interrupted);

  RunRequest resumed;
  resumed.resuming = true;
  resumed.resume = out.string();
  resumed.overrides.assignments = {"train.epochs=1"};
  const Logged logged;
  const TrainedRun run = run_training(resumed, device, solo, {});
  EXPECT_EQ(run.end, TrainingEnd::finished);
  EXPECT_EQ(run.progress.iteration, 5);
  const MetricsTable table = read_metrics_csv(out / "metrics.csv");
  ASSERT_EQ(table.rows.size(), 2u);
  const double rate = table.rows[1][static_cast<size_t>(table.column("learning_rate"))];
  EXPECT_NEAR(rate, 0.02 * 5 / 30, 1e-6);
  EXPECT_EQ(logged.text().find("never falls"), std::string::npos) << logged.text();
  EXPECT_EQ(logged.text().find("The learning rate of the rest"), std::string::npos) << logged.text();
}

}  // namespace
}  // namespace brightnet::testing
