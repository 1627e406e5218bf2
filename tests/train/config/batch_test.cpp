// Which batches ranks can share, and what is advised where they cannot.
#include <gtest/gtest.h>

#include "core/error.h"
#include "train/config/config.h"

namespace brightnet {
namespace {

/// What check_batch() says of this batch and micro-batch on so many ranks; "" when they fit.
std::string objection(int batch, Auto<int> micro_batch, int ranks, bool resuming = false) {
  TrainOptions train;
  train.batch = batch;
  train.micro_batch = micro_batch;
  try {
    check_batch(train, ranks, resuming);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(RunConfig, ABatchIsSharedEquallyOrRefused) {
  EXPECT_EQ(objection(16, {}, 1), "");
  EXPECT_EQ(objection(16, {}, 4), "");
  EXPECT_NE(objection(16, {}, 3).find("15 or 18"), std::string::npos) << objection(16, {}, 3);
  const std::string too_many = objection(16, {}, 64);
  EXPECT_NE(too_many.find("Set it to 64 (--set train.batch=64)"), std::string::npos) << too_many;
}

TEST(RunConfig, OfARunThatGoesOnOnlyTheNumberOfRanksMayChange) {
  const auto advice = [](int batch, int ranks) {
    const std::string text = objection(batch, {}, ranks, true);
    const size_t at = text.find("A run keeps its batch: ");
    return at == std::string::npos ? text : text.substr(at + 23);
  };
  EXPECT_EQ(advice(4, 3), "start 2 or 4 ranks.");
  EXPECT_EQ(advice(12, 5), "start 4 or 6 ranks.");
  EXPECT_EQ(advice(12, 64), "start 12 ranks.");
  EXPECT_EQ(advice(1, 2), "start 1 rank.");
  EXPECT_EQ(advice(4, 2), "");
}

TEST(RunConfig, AMicroBatchDividesARanksPart) {
  EXPECT_EQ(objection(16, 4, 4), "");
  EXPECT_NE(objection(16, 8, 4).find("Set it to 4"), std::string::npos) << objection(16, 8, 4);
  EXPECT_EQ(objection(16, 8, 4, true), "") << "a run that goes on makes it smaller itself";
  EXPECT_NE(objection(16, 8, 3, true), "") << "but the batch stays";
}

}  // namespace
}  // namespace brightnet
