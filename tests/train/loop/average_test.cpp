// Which weights a run evaluates and saves, and which of its evaluations it remembers as the best.

#include <gtest/gtest.h>

#include "detect/evaluate/evaluate.h"
#include "kernels/device/device.h"
#include "tests/train/small_training.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// The arrays of a saved state, cut up by the parameters' names.
std::map<std::string, std::vector<float>> state_array(const fs::path& file, const std::string& array,
                                                      const ParameterLayout& layout) {
  const std::vector<float> values = SafetensorsReader(file).read(array);
  std::map<std::string, std::vector<float>> all;
  for (const auto& entry : layout.entries()) {
    const auto begin = values.begin() + static_cast<long>(entry.offset);
    all[entry.name] = {begin, begin + static_cast<long>(entry.count)};
  }
  return all;
}

/// What `brightnet eval` computes of these weights on the run's validation split.
Metrics score(const SmallTraining& training, const std::vector<float>& values) {
  const auto backend = make_cpu_backend();
  DeviceBuffer memory(*backend, values.size() * sizeof(float));
  backend->upload(memory.data(), values.data(), memory.bytes());
  const Parameters parameters{.layout = &training.layout, .values = memory.floats()};
  Network network({.model = &training.model,
                   .backend = backend.get(),
                   .parameters = &parameters,
                   .batch = training.config.train.micro_batch,
                   .height = 64,
                   .width = 64,
                   .precision = Precision::fp32,
                   .mode = Mode::infer});
  const DeviceBuffer arena(*backend, network.memory().arena());
  network.bind(arena.data());
  NetworkEngine engine(network);
  return *evaluate(engine, training.val, {64, training.config.augment.letterbox},
                   {.nms = for_model(training.config.evaluate.nms, training.model)});
}

/// A run of weights that find something everywhere, so that any change of them changes the score.
class TrainerAverage : public ::testing::Test {
 protected:
  std::vector<float> initial(const SmallTraining& training) {
    return load_weights(write_small_weights(run_), training.layout);
  }
  SmallRun run_;
};

TEST_F(TrainerAverage, IsWhatTheWeightsFilesHoldAndTheStateHoldsBoth) {
  SmallTraining training(run_.load({"evaluate.start=2"}), run_.folder() / "out");
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  const auto average = state_array(training.folder.state(), "ema", training.layout);
  const auto raw = state_array(training.folder.state(), "values", training.layout);
  EXPECT_EQ(tensors_of(training.folder.last()), average);
  EXPECT_EQ(tensors_of(training.folder.best()), average);
  for (const auto& [name, values] : average) EXPECT_NE(values, raw.at(name)) << name;
}

TEST_F(TrainerAverage, IsLeftOutWhereItsDecayIsZero) {
  SmallTraining training(run_.load({"ema.decay=0", "train.epochs=1"}), run_.folder() / "out");
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  EXPECT_FALSE(SafetensorsReader(training.folder.state()).tensors().contains("ema"));
  EXPECT_EQ(tensors_of(training.folder.last()),
            state_array(training.folder.state(), "values", training.layout));
}

TEST_F(TrainerAverage, IsWhatEachEvaluationScores) {
  SmallTraining training(run_.load({"ema={decay: 0.9, ramp: 0}", "train.epochs=3", "optimizer.rate=0.001"}),
                         run_.folder() / "out");
  training.watched_by = WatchedBy::all;
  Trainer trainer = training.make(initial(training));
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  const Metrics last = score(training, load_weights(training.folder.last(), training.layout));
  const Metrics best = score(training, load_weights(training.folder.best(), training.layout));
  const Metrics raw = score(training, SafetensorsReader(training.folder.state()).read("values"));
  const auto table = read_metrics_csv(training.folder.metrics());
  ASSERT_EQ(table.rows.size(), 3u);
  const auto cell = [&](int epoch, const char* column) {
    return table.rows[static_cast<size_t>(epoch) - 1][static_cast<size_t>(table.column(column))];
  };
  const int best_epoch = trainer.progress().best_epoch;
  EXPECT_NEAR(cell(3, "AP50"), last.AP50, 1e-5 * last.AP50);
  EXPECT_NEAR(cell(3, "AR"), last.AR, 1e-5 * last.AR);
  EXPECT_NEAR(cell(best_epoch, "AP50"), best.AP50, 1e-5 * best.AP50);
  EXPECT_NEAR(cell(best_epoch, "AP"), best.AP, 1e-5 * best.AP);
  EXPECT_EQ(trainer.best_metrics()->AP50, best.AP50);
  // Otherwise none of this would tell anything.
  EXPECT_GT(last.AP50, 0);
  EXPECT_GT(std::abs(raw.AP50 - last.AP50), 1e-3 * last.AP50);
  EXPECT_GT(std::abs(cell(2, "AP50") - cell(3, "AP50")), 1e-3 * last.AP50);
}

TEST_F(TrainerAverage, IsScoredByTheSuppressionThatTheRunAsksFor) {
  for (const char* score : {"0.001", "1"}) {
    SmallTraining training(run_.load({"ema={decay: 0.9, ramp: 0}", "train.epochs=3", "optimizer.rate=0.001",
                                      "train.average=0", std::string("evaluate.nms.score=") + score}),
                           run_.folder() / score);
    Trainer trainer = training.make(initial(training));
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    EXPECT_EQ(trainer.last_metrics()->AP50 > 0, std::string(score) == "0.001") << "no score is above 1";
  }
}

TEST_F(TrainerAverage, OfTheBestEpochStaysTheBestOverAResume) {
  // With a rate of next to nothing no evaluation is better than the first.
  const RunConfig config = run_.load({"optimizer.rate=1e-20", "train.epochs=3"});
  SeenWork seen;
  SmallTraining first(config, run_.folder() / "out", false, std::make_unique<WatchedBackend>(seen));
  seen.before_loss = [&seen] {
    if (seen.losses.size() == 3 * 2 * heads)
      seen.stop.request_stop();  // in the first step of the second epoch
  };
  Trainer trainer = first.make();
  ASSERT_EQ(trainer.run(seen.stop.get_token()), TrainingEnd::interrupted);
  ASSERT_EQ(trainer.progress().best_epoch, 1);
  const std::string best = read_file(first.folder.best());

  SmallTraining rest(config, first.folder.path(), true);
  Trainer resumed = rest.make();
  resumed.resume();
  EXPECT_EQ(resumed.progress().best_epoch, 1);
  EXPECT_EQ(resumed.progress().best_score, trainer.progress().best_score);
  ASSERT_EQ(resumed.run(), TrainingEnd::finished);
  EXPECT_EQ(resumed.progress().best_epoch, 1);
  EXPECT_EQ(resumed.progress().evaluations_since_best, 2);
  EXPECT_EQ(read_file(first.folder.best()), best);
  EXPECT_EQ(load_trained_model(first.folder.best()).training.at("epoch"), "1");
  EXPECT_EQ(load_trained_model(first.folder.last()).training.at("epoch"), "3");
}

}  // namespace
}  // namespace brightnet::testing
