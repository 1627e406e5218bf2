// The batch that is chosen for a run: by the images, the time that it has, the ranks.
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/formats/small_cfg.h"
#include "tests/train/setup/chosen_values.h"
#include "train/setup/automatic.h"

namespace brightnet::testing {
namespace {

TEST(AutomaticValues, TheBatchGrowsWithTheDataSet) {
  for (const auto& [images, batch] :
       {std::pair(1, 1), {5, 5}, {8, 8}, {499, 8}, {500, 16}, {4999, 16}, {5000, 64}})
    EXPECT_EQ(chosen(facts_of(images)).train.batch, batch) << images;
  EXPECT_EQ(chosen(facts_of(0)).train.batch, 64) << "unknown data";
}

TEST(AutomaticValues, AShortRunHasSmallBatches) {
  const auto batch = [](int64_t images, float minutes, int epochs = 0, bool gpu = false, int ranks = 1) {
    RunConfig config;
    config.train.minutes = minutes;
    if (epochs > 0) config.train.epochs = epochs;
    RunFacts facts = facts_of(images);
    facts.device.gpu = gpu;
    facts.ranks = facts.ranks_here = ranks;
    return chosen(facts, config).train.batch.value();
  };
  EXPECT_EQ(batch(300, 8), 4) << "of 8000 images";
  EXPECT_EQ(batch(300, 1), 4) << "never less";
  EXPECT_EQ(batch(300, 11.9f), 4);
  EXPECT_EQ(batch(300, 12.1f), 8) << "of 12100 images";
  EXPECT_EQ(batch(2000, 20), 8) << "of 20000 images, where 16 would do for more";
  EXPECT_EQ(batch(2000, 25), 16);
  EXPECT_EQ(batch(300, 1, 0, true), 8) << "of 30000 images on a GPU";
  EXPECT_EQ(batch(2000, 0.7f, 0, true), 8);
  EXPECT_EQ(batch(2000, 0.7f, 0, true, 2), 16) << "two GPUs";
  EXPECT_EQ(batch(2000, 13, 0, false, 2), 8) << "ranks share the cores";
  EXPECT_EQ(batch(300, 0, 39), 4) << "39 epochs";
  EXPECT_EQ(batch(300, 0, 40), 8);
  EXPECT_EQ(batch(300, 60, 30), 4) << "the epochs end the run";
  EXPECT_EQ(batch(4999, 8), 4);
  EXPECT_EQ(batch(5000, 8), 4) << "of 8000 images, however many there are";
  EXPECT_EQ(batch(6000, 95), 32) << "of 95000 images";
  EXPECT_EQ(batch(6000, 97), 64);
  RunConfig iterations;
  iterations.train.iterations = 10;
  EXPECT_EQ(chosen(facts_of(300), iterations).train.batch, 8) << "as many steps were asked for";
}

TEST(AutomaticValues, TheEstimateOfTheImagesThatFitFollowsTheNetworkTheThreadsAndTheGpus) {
  const auto images_trained = [](double flops, int threads, bool gpu = false, int ranks = 1) {
    RunFacts facts = facts_of(160);
    facts.flops = flops;
    facts.threads = threads;
    facts.device.gpu = gpu;
    facts.ranks = facts.ranks_here = ranks;
    RunConfig config;
    config.train.minutes = 1;
    config.train.batch = 16;
    config.train.grow = 0;
    choose_automatic(config, facts);
    return static_cast<double>(config.ema.ramp) * 7.5 * 16;  // the images of the run
  };
  const double tiny = 6775488512.0;
  EXPECT_NEAR(images_trained(0, 8), 4000, 100);
  EXPECT_NEAR(images_trained(tiny, 8), 4000, 100);
  EXPECT_NEAR(images_trained(tiny / 10, 2), 10000, 250) << "a network of a tenth of the work";
  EXPECT_NEAR(images_trained(18 * tiny, 64), 1780, 60) << "YOLOv4 at 608 pixels";
  EXPECT_NEAR(images_trained(tiny, 2, true), 30000, 750);
  EXPECT_NEAR(images_trained(tiny, 64, true), 30000, 750) << "a GPU does the work";
  EXPECT_NEAR(images_trained(tiny, 2, true, 4), 120000, 3000);
}

TEST(AutomaticValues, TheBatchIsSharedEquallyByTheRanks) {
  for (const auto& [images, ranks, batch] : {std::tuple(300, 2, 8),
                                             {300, 3, 12},
                                             {300, 4, 16},
                                             {300, 16, 64},
                                             {7, 2, 6},
                                             {10, 6, 6},
                                             {1, 4, 4},
                                             {100000, 6, 66}}) {
    RunFacts facts = facts_of(images);
    facts.ranks = ranks;
    EXPECT_EQ(chosen(facts).train.batch, batch) << images << " images, " << ranks << " ranks";
  }
  RunConfig config;
  RunFacts facts = facts_of(300);
  facts.ranks = 4;
  config.train.minutes = 1;
  EXPECT_EQ(chosen(facts, config).train.batch, 16) << "with 2 images a rank's batch statistics are too poor";
  config.train.sync_bn = true;
  EXPECT_EQ(chosen(facts, config).train.batch, 4) << "those of all ranks";
  config = {};
  config.train.micro_batch = 6;
  facts.ranks = 2;
  EXPECT_EQ(chosen(facts, config).train.batch, 12) << "whole micro-batches on both ranks";
}

TEST(AutomaticValues, TheMicroBatchOfACfgGivesWayToAnotherBatchUnlessItIsGivenToo) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / "automatic_batch_test" / "net.cfg";
  std::filesystem::create_directories(file.parent_path());
  write_atomically(file, with(small_cfg, "batch=8", "batch=64"));
  const auto loaded = [&file](const std::vector<std::string>& assignments) {
    return load_run_config(file, assignments, false).train;
  };
  EXPECT_EQ(loaded({}).micro_batch, 32) << "64 in 2 subdivisions";
  EXPECT_EQ(loaded({"--batch:train.batch=96"}).micro_batch, 32);
  for (const char* batch : {"auto", "48", "6", "2"})
    EXPECT_FALSE(loaded({std::string("--batch:train.batch=") + batch}).micro_batch.has_value()) << batch;
  EXPECT_EQ(loaded({"train.batch=48", "train.micro_batch=16"}).micro_batch, 16);
  EXPECT_EQ(loaded({"train.batch=auto", "train.micro_batch=16"}).micro_batch, 16);
  EXPECT_THROW(loaded({"train.batch=48", "train.micro_batch=32"}), InputError);
  EXPECT_THROW(loaded({"train={batch: 48, micro_batch: 32}"}), InputError);
  const RunConfig config = load_run_config(file, {"train.batch=auto"}, false);
  EXPECT_EQ(chosen(facts_of(24), config).train.batch, 8) << "and not 32";
  std::filesystem::remove_all(file.parent_path());
}

TEST(AutomaticValues, ASetOfTilesIsAsLargeAsItsPicturesAreMany) {
  RunFacts facts = facts_of(5250);
  facts.pictures = 150;
  RunConfig config;
  const auto choices = choose_automatic(config, facts);
  EXPECT_EQ(config.train.batch, 8);
  EXPECT_EQ(choice_of("train.batch", choices).reason, "for 150 training images in 5250 tiles");
  EXPECT_EQ(config.train.epochs, 100) << "an epoch of tiles shows each object once, as one of pictures does";
  EXPECT_EQ(config.schedule.power, 1) << "not YOLOv4's";
  EXPECT_EQ(config.schedule.warmup, 3) << "epochs of 657 steps";
  facts.pictures = 5250;
  EXPECT_EQ(chosen(facts).train.batch, 64);
}

}  // namespace
}  // namespace brightnet::testing
