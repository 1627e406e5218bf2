// Runs that were interrupted and go on: with the same weights, with data that have changed, or not at all.
#include <gtest/gtest.h>

#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "tests/train/small_training.h"
#include "train/loop/trainer.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

// docs/resume.md: a state of a version that planned once, after the first epoch, keeps that plan.
TEST(Trainer, KeepsTheOnePlanOfAVersionThatPlannedOnce) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=50", "train.minutes=100"});
  SmallTraining training(config, run.folder() / "out");
  std::stop_source stop;
  stop.request_stop();
  ASSERT_EQ(training.make().run(stop.get_token()), TrainingEnd::interrupted);
  change_state(training, [](RunState& state) {
    state.progress.plans = {{0, 5}};
    state.progress.times.used = -1;
  });
  SmallTraining again(config, training.folder.path(), true);
  Trainer trainer = again.make();
  trainer.resume();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(trainer.progress().iteration, 5);
}

TEST(Trainer, EndsInTheSameWeightsHoweverOftenItWasInterrupted) {
  SmallRun run;
  // 12 images in batches of 4: three steps an epoch.
  const RunConfig config = run.load({"train.epochs=3", "train.save_epochs=2"});
  SmallTraining whole(config, run.folder() / "whole");
  whole.watched_by = WatchedBy::all;
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);

  const fs::path parts = run.folder() / "parts";
  for (int part = 1;; ++part) {
    const bool old = part > 1;
    SmallTraining training(config, parts, old);
    training.watched_by = WatchedBy::all;
    Trainer trainer = training.make();
    if (old) trainer.resume();
    std::stop_source stop;
    // A signal that is there from the beginning lets one step be made: after one step, after two, and after
    // the last one of the epoch, before its evaluation. The fourth part ends the run.
    if (part <= 3) stop.request_stop();
    const TrainingEnd end = trainer.run(stop.get_token());
    ASSERT_EQ(end, part <= 3 ? TrainingEnd::interrupted : TrainingEnd::finished);
    if (part > 3) break;
    ASSERT_EQ(trainer.progress().iteration, part);
    ASSERT_EQ(trainer.progress().epoch, 0u);
  }
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(parts / "weights/last.safetensors"));
  EXPECT_EQ(tensors_of(whole.folder.best()), tensors_of(parts / "weights/best.safetensors"));
  EXPECT_EQ(tensors_of(whole.folder.snapshot(2)), tensors_of(parts / "weights/epoch_002.safetensors"));
  EXPECT_NE(tensors_of(whole.folder.snapshot(2)), tensors_of(whole.folder.last()));
  for (const uint64_t epoch : {1, 3}) EXPECT_FALSE(fs::exists(whole.folder.snapshot(epoch))) << epoch;
  EXPECT_EQ(read_metrics_csv(whole.folder.metrics()).rows.size(), 3u);
  const auto table = read_metrics_csv(parts / "metrics.csv");
  ASSERT_EQ(table.rows.size(), 3u);
  const auto expected = read_metrics_csv(whole.folder.metrics());
  for (const char* name : {"loss", "gradient_norm", "clipped", "learning_rate"}) {
    const auto column = static_cast<size_t>(table.column(name));
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(table.rows[i][column], expected.rows[i][column]) << name;
  }
}

/// A run of three epochs that was stopped in the first one, after the second of three steps.
void stop_in_the_first_epoch(const RunConfig& config, const fs::path& folder) {
  for (const bool old : {false, true}) {
    SmallTraining training(config, folder, old);
    Trainer trainer = training.make();
    if (old) trainer.resume();
    std::stop_source stop;
    stop.request_stop();
    ASSERT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
    EXPECT_FALSE(trainer.over());
  }
}

TEST(Trainer, DoesTheRestOfItsEpochsWithDataThatHaveChanged) {
  SmallRun run;
  const fs::path images = run.folder() / "data/images/train", labels = run.folder() / "data/labels/train";
  std::vector<fs::path> names;
  for (const auto& image : fs::directory_iterator(images)) names.push_back(image.path().filename());
  const RunConfig config = run.load({"train.epochs=3"});
  for (const bool more : {true, false}) {
    const fs::path folder = run.folder() / (more ? "more" : "fewer");
    stop_in_the_first_epoch(config, folder);
    for (size_t i = 0; i < names.size(); ++i) {
      const fs::path name = names[i], label = fs::path(name).replace_extension(".txt");
      if (more) {
        fs::copy(images / name, images / ("more_" + name.string()));
        fs::copy(labels / label, labels / ("more_" + label.string()));
      } else if (i >= 4) {
        fs::remove(images / name);
      }
      if (!more) fs::remove(images / ("more_" + name.string()));
    }
    SmallTraining training(config, folder, true);
    training.watched_by = WatchedBy::all;
    ASSERT_EQ(training.train.images.size(), more ? 24u : 4u);
    Trainer trainer = training.make();
    const testing::Logged logged;
    trainer.resume();
    const std::string words = logged.text();
    EXPECT_NE(words.find("training split has changed"), std::string::npos) << words;
    EXPECT_EQ(words.find("validation split"), std::string::npos) << words;
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    EXPECT_EQ(trainer.progress().epoch, 3u);
    EXPECT_EQ(read_metrics_csv(training.folder.metrics()).rows.size(), 3u);
    // Six steps an epoch now, of which two are done; or one, which with two is over.
    EXPECT_EQ(trainer.progress().iteration, more ? 18 : 4);
  }
}

TEST(Trainer, SaysOnResumeThatItsValidationSplitHasChanged) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=3"});
  stop_in_the_first_epoch(config, run.folder() / "out");
  const fs::path labels = run.folder() / "data/labels/val";
  const fs::path label = fs::directory_iterator(labels)->path();
  write_atomically(label, std::string("1 0.5 0.5 0.25 0.375\n"));
  SmallTraining training(config, run.folder() / "out", true);
  Trainer trainer = training.make();
  const testing::Logged logged;
  trainer.resume();
  const std::string words = logged.text();
  EXPECT_NE(words.find("The validation split has changed"), std::string::npos) << words;
  EXPECT_NE(words.find("not comparable with the earlier ones"), std::string::npos) << words;
  EXPECT_EQ(words.find("training split"), std::string::npos) << words;
}

TEST(Trainer, SaysOnResumeThatItHasAnotherNumberOfThreads) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=3"});
  stop_in_the_first_epoch(config, run.folder() / "out");
  SmallTraining training(config, run.folder() / "out", true);
  change_state(training, [](RunState& state) { state.threads = 1234; });
  Trainer trainer = training.make();
  const testing::Logged logged;
  trainer.resume();
  const std::string words = logged.text();
  EXPECT_NE(words.find("computed with 1234 threads"), std::string::npos) << words;
  EXPECT_NE(words.find("not be bit-identical"), std::string::npos) << words;
  EXPECT_NE(words.find("OMP_NUM_THREADS=1234"), std::string::npos) << words;
}

TEST(Trainer, FinishesTheEpochInWhichItEndedWhenItIsMadeLonger) {
  SmallRun run;
  // Three steps an epoch; nothing follows from the length.
  const auto of_steps = [&](const std::string& steps) {
    return run.load({"train.iterations=" + steps, "schedule.kind=constant", "augment.mosaic_off=0",
                     "train.average=0", "train.save_epochs=1"});
  };
  SmallTraining whole(of_steps("9"), run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);
  const fs::path parts = run.folder() / "parts";
  SmallTraining first(of_steps("4"), parts);
  first.watched_by = WatchedBy::all;
  {
    Trainer trainer = first.make();
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    EXPECT_TRUE(trainer.over());
    EXPECT_EQ(trainer.progress().epoch, 1);
    EXPECT_EQ(trainer.progress().step, 1);
  }
  const auto epochs = [&] {
    std::vector<double> all;
    for (const auto& row : read_metrics_csv(first.folder.metrics()).rows) all.push_back(row[0]);
    return all;
  };
  ASSERT_EQ(epochs().size(), 2u);
  EXPECT_NEAR(epochs()[1], 4.0 / 3, 1e-6);
  EXPECT_FALSE(fs::exists(first.folder.snapshot(2))) << "there was no second epoch";
  {
    SmallTraining again(of_steps("4"), parts, true);
    Trainer trainer = again.make();
    trainer.resume();
    EXPECT_TRUE(trainer.over());
  }
  SmallTraining longer(of_steps("9"), parts, true);
  longer.watched_by = WatchedBy::all;
  Trainer trainer = longer.make();
  trainer.resume();
  EXPECT_FALSE(trainer.over());
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(trainer.progress().epoch, 3);
  ASSERT_EQ(epochs().size(), 4u);
  EXPECT_NEAR(epochs()[1], 4.0 / 3, 1e-6);
  EXPECT_EQ(epochs()[2], 2);
  EXPECT_EQ(epochs()[3], 3);
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(longer.folder.last()));
}

TEST(Trainer, KnowsItsBestScoreAndThatItIsOverAfterAResume) {
  SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_TRUE(trainer.over());
  SmallTraining again(training.config, training.folder.path(), true);
  Trainer resumed = again.make();
  const testing::Logged logged;
  resumed.resume();
  EXPECT_EQ(logged.text(), "") << "nothing has changed";
  EXPECT_TRUE(resumed.over());
  ASSERT_TRUE(resumed.best_metrics().has_value());
  EXPECT_EQ(resumed.best_metrics()->AP, trainer.best_metrics()->AP);
  EXPECT_EQ(resumed.best_metrics()->per_class.size(), 2u);
}

}  // namespace
}  // namespace brightnet::testing
