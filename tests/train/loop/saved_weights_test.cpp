// What a run writes into its weights files beside the numbers.

#include <gtest/gtest.h>

#include "formats/weights.h"
#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

TEST(TrainerWeights, NameTheirScoreOnceThereIsOne) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=1"});
  {
    SmallTraining training(config, run.folder() / "run");
    Trainer trainer = training.make();
    std::stop_source stop;
    stop.request_stop();
    ASSERT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
    const auto said = load_trained_model(training.folder.last()).training;
    EXPECT_EQ(said.at("iteration"), "1");
    EXPECT_EQ(said.count("AP") + said.count("AP50"), 0u);
  }
  SmallTraining training(config, run.folder() / "run", true);
  Trainer trainer = training.make();
  trainer.resume();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  const auto said = load_trained_model(training.folder.last()).training;
  EXPECT_EQ(said.at("AP"), std::to_string(trainer.best_metrics()->AP));
  EXPECT_EQ(said.at("AP50"), std::to_string(trainer.best_metrics()->AP50));
}

TEST(TrainerWeights, SayWhatTheirNetworkSeesAndWhoseTheyAre) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=1", "augment.letterbox=true", "evaluate.size=96",
                                     "data.tiles={size: 40, overlap: 0.25}"});
  SmallTraining training(config, run.folder() / "out");
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  for (const auto& file : {training.folder.last(), training.folder.best()}) {
    const TrainedModel weights = load_trained_model(file);
    EXPECT_TRUE(weights.letterbox);
    EXPECT_EQ(weights.size, InputSize(96)) << "at which they were scored";
    EXPECT_EQ(weights.classes, (std::vector<std::string>{"circle", "square"}));
    EXPECT_EQ(weights.training.at("run"), "run");
    EXPECT_EQ(weights.training.at("epoch"), "1");
    EXPECT_EQ(weights.training.at("iteration"), "3");
    EXPECT_EQ(weights.training.at("tiles"), "40,0.25");
  }
}

// It may be that of a folder; a whole run was lost with its first weights.
TEST(TrainerWeights, OfARunWhoseNameIsNotUtf8AreWritten) {
  SmallRun run;
  RunConfig config = run.load({"train.epochs=1"});
  config.name = "dat\xe9";
  SmallTraining training(config, run.folder() / "out");
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  EXPECT_EQ(load_trained_model(training.folder.last()).training.at("run"), "dat\ufffd");
}

}  // namespace
}  // namespace brightnet::testing
