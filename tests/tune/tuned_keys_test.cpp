#include "tune/tuned_keys.h"

#include <algorithm>
#include <set>

#include "tests/train/small_run.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

using testing::SmallRun;

std::string refusal(const std::vector<std::string>& names) {
  try {
    choose_keys(names);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(TunedKeys, AreKeysOfTheConfigurationOrOfTheHead) {
  const auto keys = config_keys();
  const SmallRun run;
  const Model model = load_model(run.load(), 2);
  std::set<std::string> known(keys.begin(), keys.end());
  for (const auto& layer : model.layers) {
    if (!is_head(layer)) continue;
    for (const auto& [key, text] : layer_texts(layer.attributes, Activation::linear))
      known.insert("head." + key);
  }
  for (const TunedKey& key : tunable_keys()) {
    EXPECT_TRUE(known.contains(std::string(key.name))) << key.name;
    EXPECT_LT(key.low, key.high) << key.name;
    EXPECT_GT(key.spread, 0) << key.name;
  }
}

/// A value at the end of a key's range must be one that a run takes.
TEST(TunedKeys, BothEndsOfEveryRangeAreValuesThatARunTakes) {
  const SmallRun run;
  for (const TunedKey& key : tunable_keys()) {
    for (const double end : {key.low, key.high}) {
      const std::string assignment = std::string(key.name) + '=' + tuned_text(end);
      const RunConfig config = load_run_config(run.config(), {assignment, "train.micro_batch=auto"});
      EXPECT_NO_THROW(load_model(config, 2)) << assignment;
    }
  }
}

TEST(TunedKeys, AreChosenByNameInTheOrderOfTheTable) {
  const auto keys = choose_keys({"augment.mosaic", "optimizer.rate"});
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].name, "optimizer.rate");
  EXPECT_EQ(keys[1].name, "augment.mosaic");
  const auto usual = choose_keys({});
  EXPECT_TRUE(std::all_of(usual.begin(), usual.end(), [](const TunedKey& key) { return key.usual; }));
  EXPECT_GT(usual.size(), 5u);
  EXPECT_LT(usual.size(), tunable_keys().size());
}

TEST(TunedKeys, UnknownOnesAreRefusedWithTheNearest) {
  EXPECT_NE(refusal({"optimizer.rates"}).find("optimizer.rate'?"), std::string::npos)
      << refusal({"optimizer.rates"});
  EXPECT_NE(refusal({"x"}).find("--list-keys"), std::string::npos) << refusal({"x"});
  EXPECT_NE(refusal({"optimizer.rate", "optimizer.rate"}).find("twice"), std::string::npos);
}

TEST(TunedKeys, HaveTheValuesOfTheConfigurationAndOfItsModelsHead) {
  const SmallRun run;
  std::string model = testing::small_model;
  model.replace(model.find("scale_xy"), 0, "class_weight: 0.7, ");
  const std::string last = "mask: [2, 3]";
  model.replace(model.find(last), last.size(),
                last + ", class_weight: 0.3");  // that of the first head counts
  write_atomically(run.folder() / "model.yaml", model);
  const RunConfig config = run.load({"augment.hue=0.07", "head.box_weight=3.5", "train.batch=8"});
  const auto keys =
      choose_keys({"optimizer.rate", "augment.hue", "head.box_weight", "head.class_weight", "train.batch"});
  const auto values = configured_values(config, load_model(config, 2), keys);
  ASSERT_EQ(keys[0].name, "train.batch");
  EXPECT_EQ(values, (std::vector<double>{8, 0.02, 3.5, 0.7, 0.07}));
}

TEST(TunedKeys, AreRoundedToFourDigitsAndIntegersToWholeNumbers) {
  const TunedKey rate{"optimizer.rate", KeyKind::factor}, batch{"train.batch", KeyKind::integer};
  EXPECT_EQ(rounded(rate, 0.00123456), 0.001235);
  EXPECT_EQ(rounded(batch, 12.7), 13);
}

}  // namespace
}  // namespace brightnet
