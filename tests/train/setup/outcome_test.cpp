#include "train/setup/outcome.h"

#include "tests/train/small_training.h"
#include "train/report/observers.h"

namespace brightnet::testing {
namespace {

struct EndedRun {
  explicit EndedRun(const SmallRun& small, std::vector<std::string> more = {}) {
    RunRequest request;
    request.config = small.config().string();
    request.overrides.assignments = SmallRun::short_run(std::move(more));
    Communicator& solo = Communicator::solo();
    run = prepare(request, common_device(solo, [] { return "cpu"; }), solo);
    fit_into_memory(run, solo);
    const RunFolder folder = RunFolder::create(small.folder() / "out");
    OutputFiles files;
    TrainingSetup setup{run.config, run.model, run.training, run.validation, *run.backend, folder, files};
    RunObservers observers(setup, *run.layout);
    setup.observers = observers.all();
    Trainer trainer(setup, *run.layout, run.initial);
    trainer.run();
    outcome = run_outcome(run, folder, *trainer.best_metrics(), {});
    std::filesystem::remove_all(folder.path());
  }
  Preparation run;
  RunOutcome outcome;
};

TEST(RunOutcome, HasWhatTheRunWas) {
  const SmallRun small;
  const EndedRun ended(small);
  const RunOutcome& outcome = ended.outcome;
  EXPECT_EQ(outcome.curves.rows.size(), 2u);
  EXPECT_GE(outcome.best.AP, 0);
  ASSERT_EQ(outcome.training_objects.size(), 2u);
  EXPECT_GT(outcome.training_objects[0] + outcome.training_objects[1], 11);
  EXPECT_EQ(outcome.sizes.heads, 2);
  EXPECT_EQ(outcome.sizes.shrunk, 1) << "images of 64 pixels at 64";
  EXPECT_GT(outcome.sizes.small, 5);
  EXPECT_LT(outcome.sizes.small, 40);
}

TEST(RunOutcome, CountsAnObjectOnceHoweverManyTilesShowIt) {
  const SmallRun small;
  const EndedRun ended(small, {"data.tiles={size: 40, overlap: 0.2}"});
  ASSERT_GT(ended.run.training.images.size(), ended.run.pictures.images.size());
  EXPECT_EQ(ended.outcome.training_objects, EndedRun(small).outcome.training_objects);
}

TEST(RunOutcome, MeasuresObjectsInTheNetworksInput) {
  const SmallRun small;
  const double at_64 = EndedRun(small).outcome.sizes.small;
  const EndedRun halved(small, {"train.size=32"});
  EXPECT_NEAR(halved.outcome.sizes.small, at_64 / 2, 1e-9);
  EXPECT_EQ(halved.outcome.sizes.shrunk, 2);
}

TEST(RunOutcome, JudgesOnlyAnchorsThatAreGiven) {
  const SmallRun small;
  EXPECT_FALSE(EndedRun(small, {"head.anchors=auto"}).outcome.anchor_recall) << "they fit as they can";
  EXPECT_TRUE(EndedRun(small, {"head.anchors=[[8,8],[14,14],[22,22],[32,32]]"}).outcome.anchor_recall);
}

TEST(RunOutcome, HasHowTheRunEndedAndItsScoresOnTrainingImages) {
  const SmallRun small;
  const EndedRun ended(small, {"train.epochs=1"});
  EXPECT_FALSE(ended.outcome.stopped_early);
  EXPECT_FALSE(ended.outcome.training_images);
  RunEnding ending{.stopped_early = true, .training_images = TrainingImages()};
  ending.training_images->training.AP = 0.75;
  ending.training_images->validation.AP = 0.25;
  const RunOutcome outcome =
      run_outcome(ended.run, RunFolder::at(small.folder() / "out"), ended.outcome.best, ending);
  EXPECT_TRUE(outcome.stopped_early);
  ASSERT_TRUE(outcome.training_images);
  EXPECT_EQ(outcome.training_images->training.AP, 0.75);
  EXPECT_EQ(outcome.training_images->validation.AP, 0.25);
}

}  // namespace
}  // namespace brightnet::testing
