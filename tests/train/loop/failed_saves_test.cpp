// A run whose files cannot be written for a while, or to the end.

#include "formats/weights.h"
#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "train/setup/resume.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Three steps an epoch, of two micro-batches and two heads each.
constexpr size_t losses_per_step = 4, losses_per_epoch = 3 * losses_per_step;

/// Takes a folder away by a file in its place, which stops root as well, and gives it back.
class Outage {
 public:
  explicit Outage(fs::path folder) : folder_(std::move(folder)), away_(folder_.string() + "-away") {}
  void begin() {
    fs::rename(folder_, away_);
    write_atomically(folder_, "");
  }
  void end() {
    fs::remove(folder_);
    fs::rename(away_, folder_);
  }

 private:
  fs::path folder_, away_;
};

/// A training that meets an outage from one loss to another (counted from 0).
struct Disturbed {
  Disturbed(const RunConfig& config, const fs::path& path, const char* inner, size_t from, size_t to)
      : training(config, path, false, std::make_unique<WatchedBackend>(seen)), outage(path / inner) {
    seen.before_loss = [this, from, to] {
      if (seen.losses.size() == from) outage.begin();
      if (seen.losses.size() == to) outage.end();
    };
  }
  SeenWork seen;
  SmallTraining training;
  Outage outage;
};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(FailedSaves, AreForeseenWhereTheDiskHasTooLittleSpace) {
  SmallRun run;
  for (const uint64_t MiB : {1, 1000}) {
    SmallTraining training(run.load({"train.epochs=1"}), run.folder() / "out");
    fs::path asked;
    training.free_space = [&](const fs::path& file) {
      asked = file;
      return MiB << 20;
    };
    Trainer trainer = training.make();
    const testing::Logged logged;
    trainer.run();
    const std::string said = logged.text();
    EXPECT_EQ(said.find("1.00 MiB are free there") != std::string::npos, MiB == 1) << said;
    EXPECT_EQ(asked.parent_path(), training.folder.path());
    fs::remove_all(training.folder.path());
  }
}

TEST(FailedSaves, AreForeseenOfAllSnapshotsThatTheRunIsToLeave) {
  SmallRun run;
  // The best and the last weights; with snapshots also those of the epochs 2, 4 and 6.
  for (const auto& [every, files] : {std::pair("0", "for 2 weights files"), {"2", "for 5 weights files"}}) {
    SmallTraining training(
        run.load({"train.epochs=7", "train.average=0", std::string("train.save_epochs=") + every}),
        run.folder() / every);
    training.free_space = [](const fs::path&) { return uint64_t{1}; };
    std::stop_source stop;
    stop.request_stop();
    Trainer trainer = training.make();
    const testing::Logged logged;
    ASSERT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
    EXPECT_NE(logged.text().find(files), std::string::npos) << logged.text();
  }
}

TEST(FailedSaves, DoNotEndARunAndLeaveNoTraceOnceTheyWorkAgain) {
  SmallRun run;
  // With a rate of next to nothing every evaluation gives the same score: the first stays the best.
  const RunConfig config = run.load({"train.epochs=3", "optimizer.rate=1e-20"});
  SmallTraining whole(config, run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);
  for (const char* inner : {"state", "weights"}) {
    SCOPED_TRACE(inner);
    // From the second step of the run to the second epoch's last step: at the first epoch's end, of the best
    // evaluation, nothing can be written there.
    Disturbed disturbed(config, run.folder() / inner, inner, losses_per_step, 2 * losses_per_epoch - 1);
    Trainer trainer = disturbed.training.make();
    const testing::Logged logged;
    const TrainingEnd end = trainer.run();
    const std::string words = logged.text();
    ASSERT_EQ(end, TrainingEnd::finished);
    EXPECT_EQ(count(words, "Training goes on"), 1u) << words;
    EXPECT_EQ(count(words, "written again"), 1u) << words;
    disturbed.training.files.check(disturbed.training.folder);
    const RunFolder& folder = disturbed.training.folder;
    for (const auto& file : {"weights/best.safetensors", "weights/last.safetensors"})
      EXPECT_EQ(read_file(folder.file(file)), read_file(whole.folder.file(file))) << file;
    EXPECT_EQ(load_trained_model(folder.best()).training.at("epoch"), "1") << "found during the outage";
    EXPECT_EQ(tensors_of(folder.state()), tensors_of(whole.folder.state()));
    for (const KeptSet& kept : trainer.progress().kept) {
      const std::string name = "state/best-" + std::to_string(kept.iteration) + ".safetensors";
      EXPECT_EQ(tensors_of(folder.file(name)), tensors_of(whole.folder.file(name))) << name;
    }
  }
}

TEST(FailedSaves, LeaveTheLastCompleteStateToResumeFrom) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=2"});
  SmallTraining whole(config, run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);
  // The folder of the state vanishes after the first step, and the machine goes down in the third.
  struct Down {};
  const fs::path parts = run.folder() / "parts";
  {
    Disturbed disturbed(config, parts, "state", losses_per_step, 1000);
    const auto before = disturbed.seen.before_loss;
    disturbed.seen.before_loss = [&disturbed, before] {
      before();
      if (disturbed.seen.losses.size() == 2 * losses_per_step) throw Down();
    };
    Trainer trainer = disturbed.training.make();
    EXPECT_THROW(trainer.run(), Down);
    disturbed.outage.end();
  }
  SmallTraining rest(config, parts, true);
  Trainer trainer = rest.make();
  trainer.resume();
  EXPECT_EQ(trainer.progress().iteration, 1);
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(rest.folder.last()));
}

TEST(FailedSaves, EndTheRunWithTheNamesOfTheFilesWhenTheyLastToTheEnd) {
  SmallRun run;
  Disturbed disturbed(run.load(), run.folder() / "out", "state", losses_per_step, 1000);
  Trainer trainer = disturbed.training.make();
  EXPECT_EQ(trainer.run(), TrainingEnd::finished);
  try {
    disturbed.training.files.check(disturbed.training.folder);
    FAIL() << "nothing was missing";
  } catch (const InputError& e) {
    const std::string what = e.what(), missing = what.substr(0, what.find("The first error"));
    EXPECT_NE(missing.find("state.safetensors"), std::string::npos) << what;
    EXPECT_EQ(missing.find("last.safetensors"), std::string::npos) << what;
  }
  EXPECT_TRUE(fs::exists(disturbed.training.folder.last()));
}

TEST(FailedSaves, AtTheEndAreTriedAgainUntilTheyWork) {
  SmallRun run;
  const RunConfig config = run.load();
  SmallTraining whole(config, run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);
  for (const char* inner : {"state", "weights"}) {
    SCOPED_TRACE(inner);
    Disturbed disturbed(config, run.folder() / inner, inner, 2 * losses_per_epoch - 1, 1000);
    disturbed.training.files.pause = [&, times = 0](double) mutable {
      if (++times == 2) disturbed.outage.end();
    };
    Trainer trainer = disturbed.training.make();
    const Logged logged;
    EXPECT_EQ(trainer.run(), TrainingEnd::finished);
    EXPECT_NE(logged.text().find("Trying again in 0.4 s"), std::string::npos) << logged.text();
    disturbed.training.files.check(disturbed.training.folder);
    for (const char* file :
         {"weights/best.safetensors", "weights/last.safetensors", "state/state.safetensors"})
      EXPECT_EQ(tensors_of(disturbed.training.folder.file(file)), tensors_of(whole.folder.file(file)))
          << file;
  }
}

TEST(FailedSaves, StopTheRunWhereItsFolderHasBecomeAnothers) {
  SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  training.files.guard = [n = 0]() mutable {
    if (++n > 12) throw InputError("this run's folder was deleted", "", "");
  };
  EXPECT_THROW(training.make().run(), InputError);
}

// A run that was killed between the two files of its first save goes on: there are no weights without a state.
TEST(FailedSaves, TheFirstSaveBeginsWithTheState) {
  SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  int writes = 0, lost = 0;
  training.files.guard = [&] {
    ++writes;
    lost += training.folder.lost_state();
  };
  EXPECT_EQ(training.make().run(), TrainingEnd::finished);
  EXPECT_GT(writes, 4);
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(fs::exists(training.folder.last()));
}

// Nothing was lost that could be put back: the disk had space for the weights, and not for the state.
TEST(FailedSaves, ARunThatNeverHadAStateBeginsAgain) {
  SmallRun run;
  struct Killed {};
  const fs::path path = run.folder() / "out";
  {
    Disturbed disturbed(run.load({"train.epochs=3"}), path, "state", 0, 1000);
    const auto before = disturbed.seen.before_loss;
    disturbed.seen.before_loss = [&disturbed, before] {
      before();
      if (disturbed.seen.losses.size() == losses_per_epoch + losses_per_step) throw Killed();
    };
    Trainer trainer = disturbed.training.make();
    EXPECT_THROW(trainer.run(), Killed);
    EXPECT_TRUE(fs::exists(disturbed.training.folder.best())) << "after the first epoch";
    EXPECT_FALSE(disturbed.training.folder.lost_state());
    disturbed.outage.end();
  }
  RunRequest request;
  request.resuming = true;
  request.resume = path.string();
  EXPECT_TRUE(with_run_found(request).begin_again);
}

// They are worth more than what could be begun again.
TEST(FailedSaves, AtTheEndLastWeightsAreWrittenWithoutAState) {
  SmallRun run;
  Disturbed disturbed(run.load(), run.folder() / "out", "state", 0, 1000);
  Trainer trainer = disturbed.training.make();
  EXPECT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_TRUE(fs::exists(disturbed.training.folder.last()));
}

TEST(FailedSaves, LastWeightsThatAreMissingBesideTheStateAreWrittenAgain) {
  SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  EXPECT_EQ(training.make().run(), TrainingEnd::finished);
  const TrainedModel before = load_trained_model(training.folder.last());
  fs::remove(training.folder.last());
  Trainer again = training.make();
  again.resume();
  EXPECT_TRUE(again.over());
  EXPECT_EQ(load_trained_model(training.folder.last()).values, before.values);
}

TEST(FailedSaves, OfTablesAndPicturesDoNotEndARunEither) {
  SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  training.watched_by = WatchedBy::all;
  for (const char* name : {"metrics.csv", "pr_curve.png", "train_batch0.jpg", "val_pred0.jpg", "results.png"})
    fs::create_directory(training.folder.file(name));
  Trainer trainer = training.make();
  EXPECT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_TRUE(fs::exists(training.folder.best()));
  EXPECT_TRUE(fs::exists(training.folder.state()));
  try {
    training.files.check(training.folder);
    FAIL() << "nothing was missing";
  } catch (const InputError& e) {
    for (const char* name : {"metrics.csv", "val_pred0.jpg"})
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace brightnet::testing
