#include "train/setup/automatic_class_weights.h"

#include <numeric>

#include "tests/train/small_run.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

using testing::SmallRun;

std::vector<float> weights_of(const Model& model) {
  for (const auto& layer : model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) return yolo->class_weights;
  }
  return {};
}

double mean(const std::vector<float>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
}

TEST(BalancedClassWeights, AreInverseToTheFrequencyAndOneOnTheWhole) {
  const auto weights = balanced_class_weights({100, 50, 200});
  EXPECT_NEAR(weights[1], 2 * weights[0], 1e-5);
  EXPECT_NEAR(weights[0], 2 * weights[2], 1e-5);
  EXPECT_NEAR(mean(weights), 1, 1e-5);
}

TEST(BalancedClassWeights, StayWithinTheirBoundsAndOneOnTheWhole) {
  const auto weights = balanced_class_weights({100000, 90000, 80000, 70000, 60000, 50000, 40000, 30, 2});
  EXPECT_FLOAT_EQ(weights[8], 4);
  EXPECT_FLOAT_EQ(weights[0], 0.25f) << "a common class is not forgotten";
  EXPECT_NEAR(mean(weights), 1, 1e-5);
}

TEST(BalancedClassWeights, ClassesWithoutObjectsCountAsNothing) {
  const auto weights = balanced_class_weights({10, 0, 20});
  EXPECT_EQ(weights[1], 1);
  EXPECT_NEAR(weights[0] + weights[2], 2, 1e-5);
  EXPECT_EQ(balanced_class_weights({0, 0}), (std::vector<float>{1, 1}));
  EXPECT_NEAR(balanced_class_weights({7})[0], 1, 1e-6);
}

TEST(AutomaticClassWeights, StandInTheConfigurationWhereTheyWereAskedFor) {
  const SmallRun run;
  RunConfig config = load_run_config(run.config(), {"head.class_weights=auto"});
  Dataset train{.images = {}, .classes = {"circle", "square"}, .problems = {}};
  train.images.emplace_back().annotations = {
      {.class_id = 0}, {.class_id = 0}, {.class_id = 0}, {.class_id = 1}, {.class_id = 1, .crowd = true}};
  const Model before = load_model(config, 2);
  EXPECT_TRUE(weights_of(before).empty());
  const auto choice = choose_class_weights(config, train, before);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(weights_of(load_model(config, 2)), (std::vector<float>{0.5f, 1.5f}));
  EXPECT_EQ(choice->value, "[0.5, 1.5]");
}

TEST(AutomaticClassWeights, AreOffUnlessAskedForAndGivenOnesStay) {
  const SmallRun run;
  const Dataset train{.images = {}, .classes = {"circle", "square"}, .problems = {}};
  for (const char* given : {"off", "[1, 2]"}) {
    RunConfig config = load_run_config(run.config(), {std::string("head.class_weights=") + given});
    EXPECT_FALSE(choose_class_weights(config, train, load_model(config, 2)).has_value()) << given;
  }
  RunConfig config = load_run_config(run.config());
  EXPECT_FALSE(choose_class_weights(config, train, load_model(config, 2)).has_value());
  EXPECT_TRUE(weights_of(load_model(config, 2)).empty());
  config = load_run_config(run.config(), {"head.class_weights=[1, 2]"});
  EXPECT_EQ(weights_of(load_model(config, 2)), (std::vector<float>{1, 2}));
  EXPECT_THROW(load_model(load_run_config(run.config(), {"head.class_weights=on"}), 2), InputError);
}

}  // namespace
}  // namespace brightnet
