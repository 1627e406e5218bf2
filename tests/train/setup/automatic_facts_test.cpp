#include "train/setup/automatic_facts.h"

#include <gtest/gtest.h>

#include "core/threads.h"
#include "tests/layers/models.h"
#include "train/distributed/solo.h"
#include "train/setup/preparation.h"

namespace brightnet {
namespace {

RunFacts facts_of(const RunConfig& config, const Dataset& training) {
  return run_facts(config, nullptr, training, {}, Communicator::solo());
}

TEST(RunFacts, CountTheTilesOfAnEpochAndThePicturesThatTheyAreOf) {
  Dataset training;
  for (const char* file : {"a.jpg", "a.jpg", "a.jpg", "b.jpg", "b.jpg"}) {
    ImageRecord tile;
    tile.file = file;
    training.images.push_back(tile);
  }
  RunConfig config;
  EXPECT_EQ(facts_of(config, training).images, 5);
  EXPECT_EQ(facts_of(config, training).pictures, 0) << "a list may name an image more than once";
  config.data.tiles.size = 64;
  EXPECT_EQ(facts_of(config, training).images, 5);
  EXPECT_EQ(facts_of(config, training).pictures, 2);
}

TEST(RunFacts, CountTheBoxesThatAreTrained) {
  Dataset training;
  training.images.resize(2);
  training.images[0].annotations.resize(3);
  training.images[0].annotations[1].crowd = true;
  training.images[1].annotations.resize(1);
  EXPECT_EQ(facts_of({}, training).boxes, 3);
}

TEST(RunFacts, HaveTheWorkAndTheStrideOfTheModelAtTheRunsSize) {
  const auto facts = [](const char* name, int classes, const InputSize& size) {
    RunConfig config;
    config.train.size = size;
    const Model model = testing::shipped_model(name, classes);
    return run_facts(config, &model, {}, {}, Communicator::solo());
  };
  const double tiny = facts("yolov4-tiny", 80, 416).flops;
  EXPECT_EQ(tiny, 6775488512.0) << "what the estimates of images per minute are for (automatic.cpp)";
  EXPECT_EQ(facts("yolov4-tiny", 1, 416).flops, tiny) << "whatever the classes";
  EXPECT_EQ(facts("yolov4-tiny", 1, 208).flops, tiny / 4);
  EXPECT_NEAR(facts("yolov4", 80, 608).flops / tiny, 18.8, 0.2);
  EXPECT_EQ(facts("demo", 5, 64).stride, 16);
}

TEST(RunFacts, NameTheFirstConvolutionThatComesWithWeights) {
  const Model model = testing::shipped_model("yolov4-tiny", 3);
  RunConfig config;
  const auto first = [&] {
    return run_facts(config, &model, {}, {}, Communicator::solo()).first_convolution;
  };
  EXPECT_EQ(first(), "") << "from scratch";
  config.train.weights = "coco.weights";
  config.train.fresh = {"predict16", "predict32"};
  EXPECT_EQ(first(), "conv1");
  config.train.fresh.push_back("conv1");
  EXPECT_EQ(first(), "") << "which is not in the weights";
}

TEST(RunFacts, KnowWhatComesWithWeights) {
  const Model model = testing::shipped_model("yolov4-tiny", 3);
  RunConfig config;
  const auto known = [&] {
    const RunFacts facts = run_facts(config, &model, {}, {}, Communicator::solo());
    return std::pair(facts.pretrained, facts.new_predictions);
  };
  EXPECT_EQ(known(), std::pair(false, false)) << "from scratch";
  config.train.weights = "coco.weights";
  EXPECT_EQ(known(), std::pair(true, false)) << "the prediction layers as well";
  config.train.fresh = {"predict16", "predict32"};
  EXPECT_EQ(known(), std::pair(true, true));
}

TEST(RunFacts, CountTheRanksOfTheRunAndThoseOfThisMachine) {
  struct OneOfFour : SoloCommunicator {
    int size() const override { return 4; }
    int local_size() const override { return 2; }
  } ranks;
  const RunFacts facts = run_facts({}, nullptr, {}, {}, ranks);
  EXPECT_EQ(facts.ranks, 4);
  EXPECT_EQ(facts.ranks_here, 2);
  EXPECT_EQ(facts.sharing_cores, 2);
  struct Bound : OneOfFour {
    int sharing_cores() const override { return 1; }
  } bound;
  EXPECT_EQ(run_facts({}, nullptr, {}, {}, bound).sharing_cores, 1);
}

TEST(RunFacts, HaveTheSideThatAQuarterOfTheBoxesIsBelow) {
  Dataset training;
  ImageRecord& image = training.images.emplace_back();
  image.width = image.height = 100;
  for (const float side : {80.0f, 20.0f, 10.0f, 40.0f})
    image.annotations.push_back({.x1 = 0, .y1 = 0, .x2 = side, .y2 = side});
  EXPECT_DOUBLE_EQ(facts_of({}, training).small_box, 0.2);
  image.annotations.push_back({.x1 = 0, .y1 = 0, .x2 = 1, .y2 = 1, .crowd = true});
  EXPECT_DOUBLE_EQ(facts_of({}, training).small_box, 0.2) << "crowds are not trained";
}

TEST(RunFacts, CountAllThreadsOfTheRun) {
  EXPECT_EQ(run_facts({}, nullptr, {}, {"cpu", {}, 6}, Communicator::solo()).threads, 6);
  EXPECT_EQ(common_device(Communicator::solo(), [] { return "cpu"; }).threads, compute_threads());
}

}  // namespace
}  // namespace brightnet
