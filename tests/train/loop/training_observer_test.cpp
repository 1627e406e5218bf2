// What a run tells those who watch it, and that watching changes nothing.
#include "train/loop/training_observer.h"

#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/logged.h"
#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

/// Notes every event in a word.
class Notes : public TrainingObserver {
 public:
  std::string name() const override { return "The notes"; }
  void run_began(const RunBegan& event) override {
    note("began at {} with {}{}", event.status.iteration, event.best_epoch, event.resumed ? " again" : "");
    EXPECT_GT(event.device_memory, event.state);
  }
  void batch_loaded(const BatchLoaded& event) override { note("batch {}", event.number); }
  void step_done(const StepDone& event) override {
    note("step {} of {}", event.status.step, event.status.steps_per_epoch);
    if (after_step) after_step(event.status);
  }
  void images_evaluated(const ImagesEvaluated& event) override {
    if (event.done == event.images) note("all {} images", event.images);
  }
  void evaluated(const Evaluated& event) override {
    note("evaluated {}{}", event.status.epochs_done, event.within_epoch ? " within" : "");
    EXPECT_EQ(event.metrics.images, 4);
  }
  void epoch_ended(const EpochEnded& event) override {
    note("epoch {} of {}{}", event.status.epoch, event.status.epochs, event.metrics ? "" : " alone");
  }
  void best_found(const BestFound& event) override { note("best {}", event.epoch); }
  void run_ended(const RunEnded& event) override {
    note("ended {}", event.end == TrainingEnd::finished ? "finished" : "interrupted");
  }

  std::vector<std::string> all;
  std::function<void(const TrainingStatus&)> after_step;

 private:
  template <typename... Values>
  void note(fmt::format_string<Values...> text, Values&&... values) {
    all.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
};

TEST(TrainingObserver, IsToldOfEveryStepEpochAndEvaluationInOrder) {
  const SmallRun run;
  SmallTraining training(
      run.load({"train.epochs=2", "evaluate.start=2", "train.average=0", "train.save_every=1e9"}),
      run.folder() / "out");
  Notes notes;
  training.observers_besides = {&notes};
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  const std::vector<std::string> expected{"began at 0 with 0",
                                          "batch 0",
                                          "batch 1",
                                          "step 1 of 3",
                                          "batch 2",
                                          "batch 3",
                                          "step 2 of 3",
                                          "batch 4",
                                          "batch 5",
                                          "step 0 of 3",
                                          "epoch 1 of 2 alone",
                                          "batch 6",
                                          "batch 7",
                                          "step 1 of 3",
                                          "batch 8",
                                          "batch 9",
                                          "step 2 of 3",
                                          "batch 10",
                                          "batch 11",
                                          "step 0 of 3",
                                          "all 4 images",
                                          "evaluated 2",
                                          "epoch 2 of 2",
                                          "best 2",
                                          "ended finished"};
  EXPECT_EQ(notes.all, expected);
}

TEST(TrainingObserver, OfAResumedRunIsToldWhatItsBestEvaluationWas) {
  class Best : public TrainingObserver {
   public:
    std::string name() const override { return "The best"; }
    void run_began(const RunBegan& event) override {
      begun_with = event.best ? std::optional(event.best->AP50) : std::nullopt;
    }
    void best_found(const BestFound& event) override { found = event.metrics.AP50; }
    std::optional<double> begun_with, found;
  } best;
  const SmallRun run;
  const RunConfig config = run.load();
  SmallTraining training(config, run.folder() / "out");
  training.observers_besides = {&best};
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  EXPECT_FALSE(best.begun_with) << "a new run";
  ASSERT_TRUE(best.found);
  SmallTraining again(config, run.folder() / "out", true);
  again.observers_besides = {&best};
  Trainer trainer = again.make();
  trainer.resume();
  trainer.run();
  EXPECT_EQ(best.begun_with, best.found);
}

TEST(TrainingObserver, EndsARunByTheStopSourceOfItsToken) {
  const SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  Notes notes;
  std::stop_source stop;
  notes.after_step = [&](const TrainingStatus& status) {
    if (status.iteration == 1) stop.request_stop();
  };
  training.observers_besides = {&notes};
  Trainer trainer = training.make();
  EXPECT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
  EXPECT_EQ(trainer.progress().iteration, 2) << "all ranks learn of it after the next step";
  EXPECT_EQ(notes.all.back(), "ended interrupted");
}

TEST(TrainingObserver, ThatFailsIsLeftOutAndTheRunGoesOnToTheSameWeights) {
  const SmallRun run;
  const RunConfig config = run.load({"train.average=2"});
  SmallTraining alone(config, run.folder() / "alone");
  alone.watched_by = WatchedBy::nobody;
  ASSERT_EQ(alone.make().run(), TrainingEnd::finished);

  SmallTraining watched(config, run.folder() / "watched");
  Notes failing, notes;
  failing.after_step = [](const TrainingStatus&) { throw std::runtime_error("no more paper"); };
  watched.observers_besides = {&failing, &notes};
  const Logged logged;
  ASSERT_EQ(watched.make().run(), TrainingEnd::finished);
  const std::string said = logged.text();
  EXPECT_NE(said.find("The notes failed and is left out from now on: internal error: no more paper"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("no more paper"), said.rfind("no more paper"));
  EXPECT_EQ(failing.all.back(), "step 1 of 3");
  EXPECT_EQ(notes.all.back(), "ended finished");
  for (const auto& [left, right] : {std::pair{alone.folder.last(), watched.folder.last()},
                                    {alone.folder.best(), watched.folder.best()},
                                    {alone.folder.state(), watched.folder.state()}})
    EXPECT_EQ(tensors_of(left), tensors_of(right)) << left;
}

TEST(TrainingObserver, MayRefuseARunBeforeItsFirstStep) {
  class Refusing : public TrainingObserver {
    std::string name() const override { return "The refusal"; }
    void run_began(const RunBegan&) override { throw InputError("not this run"); }
  } refusing;
  const SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  training.observers_besides = {&refusing};
  EXPECT_THROW(training.make().run(), InputError);
}

}  // namespace
}  // namespace brightnet::testing
