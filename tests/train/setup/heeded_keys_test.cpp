#include "train/setup/heeded_keys.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "brightnet/configuration.h"
#include "brightnet/evaluate.h"
#include "core/error.h"

namespace brightnet::testing {
namespace {

const HeededKeys heeded{
    .by = "a test", .keys = {"data.", "train.seed"}, .remedies = {{"train.batch", "Count the images."}}};

std::string refusal(const std::string& assignment) {
  try {
    heeded.refuse_others({assignment}, "--set");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(HeededKeys, OthersAreRefusedAlsoWithinASection) {
  for (const char* assignment : {"data.val=a", "data.tiles={size: 640}", "data={val: a, tiles: {size: 640}}",
                                 "train.seed=3", "train={seed: 3}", "--epochs:train.epochs=3"})
    EXPECT_EQ(refusal(assignment), "") << assignment;
  const std::string idle = "--set: 'train.seeds' has no effect on a test. These have one: data., train.seed.";
  EXPECT_EQ(refusal("train.seeds=3"), idle);
  EXPECT_EQ(refusal("train={seed: 3, seeds: 3}"), idle);
  for (const char* assignment : {"train.batch=3", "train={batch: 3}"})
    EXPECT_EQ(refusal(assignment), "--set: 'train.batch' has no effect on a test. Count the images.");
  EXPECT_NE(refusal("train={}"), "");
}

TEST(HeededKeys, ThoseOfAnEvaluationAreKeysOfAConfiguration) {
  const std::vector<std::string> all = config_keys(), some = evaluation_keys();
  for (const char* key : {"data.val", "evaluate.nms.iou", "train.precision", "loader.workers"})
    EXPECT_EQ(std::count(some.begin(), some.end(), key), 1) << key;
  for (const char* key : {"evaluate.every", "train.epochs", "optimizer.rate"}) {
    EXPECT_EQ(std::count(all.begin(), all.end(), key), 1) << key;
    EXPECT_EQ(std::count(some.begin(), some.end(), key), 0) << key;
  }
}

}  // namespace
}  // namespace brightnet::testing
