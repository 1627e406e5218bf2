// Steps that fail: what a trainer gives up, and how little is lost.
#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "tests/train/small_training.h"
#include "train/distributed/solo.h"
#include "train/loop/trainer.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A machine that goes down in the loss of a step.
class FailingBackend : public cpu::CpuBackend {
 public:
  struct Down {};
  explicit FailingBackend(int losses) : left_(losses) {}
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    if (pass.totals && --left_ < 0) throw Down();
    cpu::CpuBackend::yolo_loss(head, pass);
  }

 private:
  int left_;
};

/// Of one rank, which has nothing to sum.
class SeenCollectives : public SoloCollectives {
 public:
  void abandon() override { ++abandoned; }

  int abandoned = 0;
};

// What is queued may wait for ever for this rank, and memory is freed only after it.
TEST(Trainer, GivesUpTheSumsThatWereStartedWhenAStepFails) {
  SmallRun run;
  for (const int losses : {1000, 4}) {
    SmallTraining training(run.load(), run.folder() / std::to_string(losses), false,
                           std::make_unique<FailingBackend>(losses));
    SeenCollectives collectives;
    Trainer trainer = training.make(&collectives);
    if (losses == 4) {
      EXPECT_THROW(trainer.run(), FailingBackend::Down);
    } else {
      EXPECT_EQ(trainer.run(), TrainingEnd::finished);
    }
    EXPECT_EQ(collectives.abandoned, losses == 4 ? 1 : 0);
  }
}

/// After this epoch the run's folder is another run's.
struct Taker : TrainingObserver {
  Taker(OutputFiles& files_, int64_t epoch_) : files(files_), epoch(epoch_) {}
  std::string name() const override { return "Another run"; }
  void epoch_ended(const EpochEnded& event) override {
    if (event.status.epoch == epoch) files.guard = [] { throw InputError("it is another run's"); };
  }
  OutputFiles& files;
  int64_t epoch;
};

// Reports are drawn every 20 seconds, and here the run ends before.
TEST(Trainer, LeavesAReportOfTheEpochsBeforeAnErrorUnlessTheFolderIsAnothers) {
  SmallRun run;
  for (const bool taken : {false, true}) {
    SmallTraining training(run.load({"train.epochs=1000"}), run.folder() / (taken ? "taken" : "own"), false,
                           std::make_unique<FailingBackend>(100));
    training.watched_by = WatchedBy::all;
    Taker taker(training.files, taken ? 2 : 0);
    training.observers_besides = {&taker};
    Trainer trainer = training.make();
    const Logged logged;
    if (taken) {
      EXPECT_THROW(trainer.run(), InputError);
    } else {
      EXPECT_THROW(trainer.run(), FailingBackend::Down);
    }
    EXPECT_GE(read_metrics_csv(training.folder.metrics()).rows.size(), 1u);
    EXPECT_NE(fs::exists(training.folder.file("report.html")), taken);
    EXPECT_NE(fs::exists(training.folder.file("results.png")), taken);
    EXPECT_EQ(logged.text().find("The report page"), std::string::npos) << logged.text();
  }
}

/// Records as a GPU does, and knows how many of its recordings are held.
class RecordingBackend : public FailingBackend {
 public:
  RecordingBackend(int losses, int& held) : FailingBackend(losses), held_(held) {}
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return std::make_unique<Held>(work, held_);
  }

 private:
  struct Held : Recording {
    Held(std::function<void()> recorded, int& count) : work(std::move(recorded)), held(count) { ++held; }
    ~Held() override { --held; }
    void replay() override { work(); }
    std::function<void()> work;
    int& held;
  };
  int& held_;
};

// NCCL waits for recordings that refer to its communicator, for ever where the trainer holds them.
TEST(Trainer, HoldsNoRecordingWhenItGivesUpSums) {
  SmallRun run;
  int held = 0, held_when_given_up = -1, most = 0;
  SmallTraining training(run.load(), run.folder() / "out", false,
                         std::make_unique<RecordingBackend>(17, held));
  struct Collectives : SoloCollectives {
    explicit Collectives(std::function<void()> see_) : see(std::move(see_)) {}
    void abandon() override { see(); }
    std::function<void()> see;
  } collectives([&] { held_when_given_up = held; });
  struct Watcher : TrainingObserver {
    explicit Watcher(std::function<void()> see_) : see(std::move(see_)) {}
    std::string name() const override { return "a watcher"; }
    void step_done(const StepDone&) override { see(); }
    std::function<void()> see;
  } watcher([&] { most = std::max(most, held); });
  training.observers_besides = {&watcher};
  Trainer trainer = training.make(&collectives);
  EXPECT_THROW(trainer.run(), FailingBackend::Down);
  EXPECT_GT(most, 1) << "of the passes and of the update";
  EXPECT_EQ(held_when_given_up, 0);
}

TEST(Trainer, SavesWithinAnEpochSoThatACrashCostsLittle) {
  SmallRun run;
  const RunConfig config = run.load();  // three steps an epoch, of two micro-batches and two heads each
  SmallTraining whole(config, run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);

  const fs::path parts = run.folder() / "parts";
  SmallTraining crashed(config, parts, false, std::make_unique<FailingBackend>(4));
  EXPECT_THROW(crashed.make().run(), FailingBackend::Down);
  SmallTraining rest(config, parts, true);
  Trainer trainer = rest.make();
  trainer.resume();
  EXPECT_EQ(trainer.progress().iteration, 1);
  EXPECT_EQ(trainer.progress().step, 1u);
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(parts / "weights/last.safetensors"));
}

}  // namespace
}  // namespace brightnet::testing
