#include "train/setup/run_facts.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace brightnet
