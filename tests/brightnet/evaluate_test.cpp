// Scores as the public interface has them.
#include "brightnet/evaluate.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "brightnet/error.h"
#include "brightnet/scores.h"
#include "core/json.h"
#include "formats/weights.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

TEST(Scores, AreTheMetricsOfTheSameNames) {
  Metrics metrics;
  metrics.AP = 0.1;
  metrics.AP50 = 0.2;
  metrics.AP75 = 0.3;
  metrics.APs = 0.4;
  metrics.APm = 0.5;
  metrics.APl = 0.6;
  metrics.AR = 0.7;
  metrics.AR1 = 0.75;
  metrics.best.score = 0.8;
  metrics.best.precision = 0.9;
  metrics.best.recall = 0.95;
  metrics.images = 3;
  metrics.truths = 4;
  metrics.detections = 5;
  metrics.per_class.resize(1);
  metrics.per_class[0].name = "circle";
  metrics.per_class[0].AP = 0.11;
  metrics.per_class[0].AP50 = 0.12;
  metrics.per_class[0].truths = 6;
  const Scores scores = scores_of(metrics);
  EXPECT_EQ(scores.AP, 0.1);
  EXPECT_EQ(scores.AP50, 0.2);
  EXPECT_EQ(scores.AP75, 0.3);
  EXPECT_EQ(scores.APs, 0.4);
  EXPECT_EQ(scores.APm, 0.5);
  EXPECT_EQ(scores.APl, 0.6);
  EXPECT_EQ(scores.AR, 0.7);
  EXPECT_EQ(scores.confidence, 0.8);
  EXPECT_EQ(scores.precision, 0.9);
  EXPECT_EQ(scores.recall, 0.95);
  EXPECT_EQ(scores.images, 3);
  EXPECT_EQ(scores.truths, 4);
  EXPECT_EQ(scores.detections, 5);
  EXPECT_EQ(scores.loss, undefined_score) << "which was not computed";
  ASSERT_EQ(scores.per_class.size(), 1u);
  EXPECT_EQ(scores.per_class[0].name, "circle");
  EXPECT_EQ(scores.per_class[0].AP, 0.11);
  EXPECT_EQ(scores.per_class[0].AP50, 0.12);
  EXPECT_EQ(scores.per_class[0].truths, 6);
  metrics.loss = MeanLoss{.box = 1, .objectness = 2, .classes = 4};
  EXPECT_EQ(scores_of(metrics).loss, 7);
}

class EvaluateOf : public ::testing::Test {
 protected:
  Scores scores(EvaluationOptions options) const {
    options.device = {.device = "cpu", .precision = "fp32"};
    return evaluate(weights_, run_.config().string(), options);
  }

  SmallRun run_;
  std::filesystem::path file_ = write_small_weights(run_);
  Weights weights_ = Weights::open(file_);
};

TEST_F(EvaluateOf, IsThatOfTheCommandAtEachSizeSplitAndSetting) {
  Ranks ranks;
  const auto report = [&](const std::string& split, int height, int width) {
    return Json::parse(report_weights({.run = {.config = run_.config().string(),
                                               .settings = {"evaluate.nms.score=0.3"},
                                               .precision = "fp32"},
                                       .weights = {.weights = file_},
                                       .device = "cpu",
                                       .split = split,
                                       .height = height,
                                       .width = width,
                                       .no_plots = true},
                                      ranks)
                           .json);
  };
  const Json theirs = report("train", 32, 96);
  const Scores ours =
      scores({.split = "train", .settings = {"evaluate.nms.score=0.3"}, .height = 32, .width = 96});
  EXPECT_EQ(theirs["detections"], ours.detections);
  EXPECT_EQ(theirs["images"], 12);
  EXPECT_EQ(ours.images, 12);
  EXPECT_NEAR(theirs["AP50"].get<double>(), ours.AP50, 1e-6);
  EXPECT_NE(report("train", 96, 32)["detections"], ours.detections) << "the height comes first";
  EXPECT_LT(ours.detections, scores({.split = "train", .height = 32, .width = 96}).detections);
  EXPECT_EQ(scores({}).images, 4) << "the validation split";
}

TEST_F(EvaluateOf, WarnsOfWeightsOfTilesOnWholePictures) {
  const auto said = [&](const std::vector<std::string>& settings) {
    const Logged logged;
    scores({.settings = settings});
    return logged.text();
  };
  const std::string words = "the setting data.tiles={size: 32, overlap: 0.2} evaluates in such tiles";
  EXPECT_EQ(said({}).find("tiles"), std::string::npos);
  TrainedModel trained = load_trained_model(file_);
  trained.training["tiles"] = "32,0.2";
  save_weights(run_.folder() / "tiles.safetensors", trained);
  weights_ = Weights::open(run_.folder() / "tiles.safetensors");
  EXPECT_NE(said({}).find(words), std::string::npos) << said({});
  EXPECT_EQ(said({"data.tiles={size: 32, overlap: 0.2}"}).find(words), std::string::npos);
}

TEST_F(EvaluateOf, TakesDataThatLackAClassOfTheWeights) {
  weights_ = Weights::open(write_small_weights(run_, {"triangle", "square", "circle"}));
  const Logged logged;
  const Scores found = scores({});  // of circle and square
  EXPECT_NE(logged.text().find("2 of the 3 classes that the weights were trained for, not triangle"),
            std::string::npos)
      << logged.text();
  const Scores listed = scores({.settings = {"data.classes=[circle, square, triangle]"}});
  EXPECT_GT(listed.truths, 0);
  EXPECT_EQ(found.truths, listed.truths);
  EXPECT_EQ(found.detections, listed.detections);
  EXPECT_EQ(found.AP50, listed.AP50);
  ASSERT_EQ(found.per_class.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found.per_class[i].name, weights_.classes()[i]);
    EXPECT_EQ(found.per_class[i].truths, listed.per_class[i].truths);
    EXPECT_EQ(found.per_class[i].AP50, listed.per_class[i].AP50);
  }
  EXPECT_EQ(found.per_class[0].AP, undefined_score);
  EXPECT_THROW(scores({.settings = {"data.classes=[ring, square]"}}), InputError);
}

// The weights themselves are finite, as those of a training that diverged may be.
TEST_F(EvaluateOf, RefusesWeightsWithWhichNothingFiniteIsComputed) {
  TrainedModel trained = load_trained_model(file_);
  for (const ParameterEntry& entry : trained.layout.entries()) {
    if (entry.kind == ParameterKind::running_variance)
      std::fill_n(trained.values.begin() + static_cast<long>(entry.offset), entry.count, -1.0f);
  }
  save_weights(run_.folder() / "spoiled.safetensors", trained);
  weights_ = Weights::open(run_.folder() / "spoiled.safetensors");
  try {
    scores({});
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("is not finite"), std::string::npos) << error.what();
  }
}

// docs/plots.md: runs/eval/NAME-SPLIT.
TEST_F(EvaluateOf, ReportsOfTwoSplitsHaveAFolderEach) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  fs::current_path(run_.folder());
  for (const char* split : {"val", "train"}) {
    Ranks ranks;
    report_weights({.run = {.config = run_.config().string(), .precision = "fp32"},
                    .weights = {.weights = file_},
                    .device = "cpu",
                    .split = split},
                   ranks);
  }
  fs::current_path(before);
  for (const char* name : {"run-val/val_pred0.jpg", "run-train/train_pred0.jpg"})
    EXPECT_TRUE(fs::exists(run_.folder() / "runs/eval" / name)) << name;
}

TEST_F(EvaluateOf, RefusesWhatCannotBeMeant) {
  EXPECT_THROW(scores({.batch = 0}), InputError);
  EXPECT_THROW(scores({.height = 64}), InputError);
  EXPECT_THROW(scores({.width = 64}), InputError);
  EXPECT_THROW(evaluate(weights_, run_.config().string(), {.device = {.device = "cpu", .precision = "fp16"}}),
               Error);
}

}  // namespace
}  // namespace brightnet::testing
