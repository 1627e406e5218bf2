// What is chosen by the machine: precision, the loader's workers, what a GPU does for it, and its cache.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/train/setup/chosen_values.h"
#include "train/setup/automatic.h"

namespace brightnet::testing {
namespace {

TEST(AutomaticValues, ThePrecisionIsTheDevices) {
  RunFacts facts = facts_of(100);
  facts.device.precision = Precision::fp16;
  RunConfig config;
  const auto choices = choose_automatic(config, facts);
  EXPECT_EQ(config.train.precision, Precision::fp16);
  EXPECT_EQ(choice_of("train.precision", choices).reason, "it is fast here");
}

TEST(AutomaticValues, WorkersLeaveTheCoresToATrainingOnTheCpuAndUseThemBesideAGpu) {
  const auto workers = [](int processors, bool gpu, int ranks_here = 1, bool bound = false) {
    RunFacts facts = facts_of(100);
    facts.processors = processors;
    facts.device.gpu = gpu;
    facts.ranks = facts.ranks_here = ranks_here;
    facts.sharing_cores = bound ? 1 : ranks_here;
    return chosen(facts).loader.workers.value();
  };
  EXPECT_EQ(workers(1, false), 1);
  EXPECT_EQ(workers(2, false), 1);
  EXPECT_EQ(workers(32, false), 4);
  EXPECT_EQ(workers(32, false, 4), 1);
  EXPECT_EQ(workers(2, true), 1);
  EXPECT_EQ(workers(8, true), 7);
  EXPECT_EQ(workers(64, true, 8), 7);
  EXPECT_EQ(workers(8, true, 8, true), 7) << "the cores that it is bound to are its own";
  EXPECT_EQ(workers(128, true), 16);
}

TEST(AutomaticValues, AGpuPaintsTheSamplesThatItCanAndTheConfigurationStaysAutomatic) {
  RunFacts facts = facts_of(100);
  RunConfig config;
  config.loader.paint = LoaderDevice::automatic;
  const auto has = [](const std::vector<Choice>& choices) {
    return std::any_of(choices.begin(), choices.end(), [](const auto& c) { return c.key == "loader.paint"; });
  };
  EXPECT_FALSE(has(choose_automatic(config, facts))) << "the CPU has nobody else";
  facts.device.gpu = true;
  EXPECT_EQ(choice_of("loader.paint", choose_automatic(config, facts)).value, "gpu");
  EXPECT_EQ(config.loader.paint, LoaderDevice::automatic);
  config.augment.blur_background = 0.1f;
  const auto choices = choose_automatic(config, facts);
  EXPECT_EQ(choice_of("loader.paint", choices).value, "cpu");
  EXPECT_EQ(choice_of("loader.paint", choices).reason, "only the CPU paints augment.blur_background");
  config.loader.paint = LoaderDevice::cpu;
  EXPECT_FALSE(has(choose_automatic(config, facts)));
}

TEST(AutomaticValues, AGpuDecodesWhereNvjpegIsInstalledAndTheConfigurationStaysAutomatic) {
  RunFacts facts = facts_of(100);
  RunConfig config;
  config.loader.decode = LoaderDevice::automatic;
  const auto has = [](const std::vector<Choice>& choices) {
    return std::any_of(choices.begin(), choices.end(),
                       [](const auto& c) { return c.key == "loader.decode"; });
  };
  EXPECT_FALSE(has(choose_automatic(config, facts))) << "the CPU has nobody else";
  facts.device.gpu = true;
  EXPECT_EQ(choice_of("loader.decode", choose_automatic(config, facts)).value, "gpu");
  EXPECT_EQ(config.loader.decode, LoaderDevice::automatic);
  facts.no_jpeg_decoder = "libnvjpeg.so.13: not found";
  const auto choices = choose_automatic(config, facts);
  EXPECT_EQ(choice_of("loader.decode", choices).value, "cpu");
  EXPECT_EQ(choice_of("loader.decode", choices).reason, "nvJPEG cannot be used: libnvjpeg.so.13: not found");
}

TEST(AutomaticValues, TheCacheTakesTheWholeDataSetOrAPartOfTheFreeMemory) {
  RunFacts facts = facts_of(100);
  facts.decoded_bytes = 100.5 * (1 << 20);
  EXPECT_EQ(chosen(facts).loader.cache_mb, 101);
  facts.decoded_bytes = 6 * gib;
  EXPECT_EQ(chosen(facts).loader.cache_mb, 4096) << "a quarter of 16 GiB";
  facts.device.gpu = true;
  EXPECT_EQ(chosen(facts).loader.cache_mb, 6144) << "up to a half beside a GPU";
  facts.ranks = facts.ranks_here = 4;
  EXPECT_EQ(chosen(facts).loader.cache_mb, 2048) << "of each rank";
  facts.free_memory = 0;
  EXPECT_EQ(chosen(facts).loader.cache_mb, 0);
}

TEST(AutomaticValues, TheCacheOfARunThatGoesOnWithMoreRanksShrinksToTheirPart) {
  RunFacts facts = facts_of(100);
  facts.decoded_bytes = 6 * gib;
  facts.ranks = facts.ranks_here = 2;
  RunConfig given;
  given.loader.cache_mb = 4096.0f;
  EXPECT_EQ(chosen(facts, given).loader.cache_mb, 4096) << "the user's";
  facts.keeps_cache = false;
  EXPECT_EQ(chosen(facts, given).loader.cache_mb, 2048);
  facts.decoded_bytes = 1 * gib;
  EXPECT_EQ(chosen(facts, given).loader.cache_mb, 4096) << "all images fit";
  given.loader.cache_mb = 1000.0f;
  facts.decoded_bytes = 6 * gib;
  EXPECT_EQ(chosen(facts, given).loader.cache_mb, 1000);
}

}  // namespace
}  // namespace brightnet::testing
