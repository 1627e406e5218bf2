#include "train/report/loader_advice.h"

#include <gtest/gtest.h>

#include "tests/logged.h"

namespace brightnet {
namespace {

LoaderSituation situation(double waited, int workers, float cache_mb) {
  LoaderSituation s;
  s.waited = waited;
  s.loader.workers = workers;
  s.loader.cache_mb = cache_mb;
  s.processors = 8;
  s.decoded_bytes = 2000.0 * 1048576;
  s.free_bytes = 4000.0 * 1048576;
  return s;
}

TEST(LoaderAdvice, SaysNothingWhileTheLoaderKeepsUp) {
  EXPECT_EQ(loader_advice(situation(0.0, 1, 0)), "");
  EXPECT_EQ(loader_advice(situation(0.09, 1, 0)), "");
}

TEST(LoaderAdvice, NamesWorkersWhileThereAreProcessors) {
  const std::string text = loader_advice(situation(0.5, 2, 0));
  EXPECT_NE(text.find("50 %"), std::string::npos) << text;
  EXPECT_NE(text.find("--set loader.workers=4"), std::string::npos) << text;
  EXPECT_NE(loader_advice(situation(0.99, 2, 0)).find("loader.workers=8"), std::string::npos);
  EXPECT_NE(loader_advice(situation(0.11, 1, 0)).find("loader.workers=2"), std::string::npos);
  EXPECT_NE(loader_advice(situation(0.5, 0, 0)).find("loader.workers=2"), std::string::npos);
}

TEST(LoaderAdvice, NamesTheCacheWhenAllProcessorsWork) {
  const std::string text = loader_advice(situation(0.5, 8, 1024));
  EXPECT_NE(text.find("--set loader.cache_mb=2000"), std::string::npos) << text;
  EXPECT_EQ(text.find("loader.workers"), std::string::npos) << text;
}

TEST(LoaderAdvice, NamesNoCacheThatTheMemoryDoesNotHave) {
  LoaderSituation large = situation(0.5, 8, 1024);
  large.free_bytes = 1000.0 * 1048576;
  const std::string text = loader_advice(large);
  EXPECT_EQ(text.find("cache_mb"), std::string::npos) << text;
  EXPECT_NE(text.find("1.95 GiB, more than the memory has"), std::string::npos) << text;
}

TEST(LoaderAdvice, NamesTheWorkItselfWhenNeitherHelps) {
  const std::string text = loader_advice(situation(0.5, 8, 4096));
  EXPECT_NE(text.find("augment.mosaic"), std::string::npos) << text;
}

TEST(LoaderAdvice, ExpectsThreeBytesOfEachPixelOfAllImagesInTheCache) {
  Dataset train;
  for (const auto& [width, height] : {std::pair(100, 50), {20, 30}}) {
    ImageRecord& image = train.images.emplace_back();
    image.width = width;
    image.height = height;
  }
  EXPECT_EQ(decoded_bytes(train), 3 * (100 * 50 + 20 * 30));
}

TEST(LoaderAdvice, IsGivenOnceARun) {
  const Dataset train;
  LoaderAdvisor advisor({.workers = 1, .cache_mb = 1024.0f}, train, Communicator::solo());
  const EpochSums quick{.seconds = 10, .waited = 0.1}, slow{.seconds = 10, .waited = 5};
  const auto said_after = [&](const EpochSums& sums) {
    const testing::Logged logged;
    TrainingStatus status;
    status.sums = sums;
    advisor.epoch_ended({status});
    return logged.text();
  };
  EXPECT_EQ(said_after(quick), "");
  EXPECT_NE(said_after(slow).find("50 %"), std::string::npos);
  EXPECT_EQ(said_after(slow), "");
}

}  // namespace
}  // namespace brightnet
