// The sizes through which a run's input grows.

#include <gtest/gtest.h>

#include "tests/train/setup/chosen_values.h"

namespace brightnet::testing {
namespace {

TEST(AutomaticValues, TheInputGrowsToItsSizeInMultiplesOfItsStride) {
  const auto sizes = [](const InputSize& size, int stride = 32) {
    RunConfig config;
    config.train.size = size;
    RunFacts facts = facts_of(200);
    facts.stride = stride;
    config = chosen(facts, config);
    EXPECT_EQ(config.train.grow, 0.6f) << size.text();
    return config.train.sizes;
  };
  EXPECT_EQ(sizes(416), (std::vector<InputSize>{224, 320, 416}));
  EXPECT_EQ(sizes(608), (std::vector<InputSize>{320, 480, 608}));
  EXPECT_EQ(sizes(640), (std::vector<InputSize>{352, 480, 640}));
  EXPECT_EQ(sizes(640, 128), (std::vector<InputSize>{384, 512, 640}));
  EXPECT_EQ(sizes(288), (std::vector<InputSize>{160, 224, 288}));
  EXPECT_EQ(sizes({384, 512}), (std::vector<InputSize>{{192, 256}, {288, 384}, {384, 512}}));
  EXPECT_EQ(sizes({384, 1280}), (std::vector<InputSize>{{192, 640}, {288, 960}, {384, 1280}}));
}

TEST(AutomaticValues, TheSizesThatTheInputGrowsThroughReadBackFromTheConfiguration) {
  for (const int stride : {32, 64, 128}) {
    for (int height = stride; height <= 1280; height += stride) {
      for (int width = stride; width <= 1280; width += stride) {
        RunConfig config;
        config.train.size = InputSize(height, width);
        RunFacts facts = facts_of(200);
        facts.stride = stride;
        facts.small_box = 0;
        const auto choices = choose_automatic(config, facts);
        if (config.train.grow == 0) {
          ASSERT_TRUE(config.train.sizes.empty());
          ASSERT_FALSE(choice_of("train.grow", choices).reason.empty());
          continue;
        }
        ASSERT_GE(config.train.sizes.size(), 2u);
        ASSERT_EQ(config.train.sizes.back(), config.train.size.value());
        for (const InputSize& size : config.train.sizes) ASSERT_TRUE(size.multiple_of(stride)) << size.text();
        RunConfig again;
        read_config(YamlDocument::parse(print_config(config, false), "run.yaml").root(), again);
        keep_ratio(again.train, "run.yaml");
        ASSERT_EQ(again.train.sizes, config.train.sizes) << height << 'x' << width;
      }
    }
  }
}

TEST(AutomaticValues, UnknownSizesOfBoxesAreNotSmall) {
  RunFacts facts = facts_of(200);
  facts.small_box = 0;
  EXPECT_GT(chosen(facts).train.grow, 0);
}

TEST(AutomaticValues, TheInputIsConstantWhereGrowingIsNotKnownToHelp) {
  RunConfig drawn;
  drawn.train.sizes = {320, 416};
  drawn = chosen(facts_of(200), drawn);
  EXPECT_EQ(drawn.train.grow, 0);
  EXPECT_EQ(drawn.train.sizes, (std::vector<InputSize>{320, 416}));
  for (const int size : {160, 256}) {
    RunConfig small;
    small.train.size = size;
    EXPECT_TRUE(chosen(facts_of(200), small).train.sizes.empty()) << size;
  }
  EXPECT_EQ(chosen(facts_of(20000)).train.grow, 0) << "a long run of a large set";
  RunFacts facts = facts_of(200);
  facts.device.gpu = true;
  EXPECT_EQ(chosen(facts).train.grow, 0) << "not measured";
  facts = facts_of(200);
  facts.small_box = 0.05;
  EXPECT_EQ(chosen(facts).train.grow, 0) << "11 of 224 pixels";
  facts.small_box = 0.106;
  EXPECT_EQ(chosen(facts).train.grow, 0) << "23.8 of 0.54 times 416 pixels";
  facts.small_box = 0.108;
  EXPECT_EQ(chosen(facts).train.grow, 0.6f) << "24.3";
  facts = facts_of(200);
  facts.pretrained = true;
  EXPECT_EQ(chosen(facts).train.grow, 0) << "pretrained layers know objects at full size";
  RunConfig given;
  given.train.grow = 0;
  EXPECT_TRUE(chosen(facts_of(200), given).train.sizes.empty());
}

TEST(AutomaticValues, AnInputThatIsToldToGrowHasSizesToGrowThrough) {
  RunFacts facts = facts_of(200);
  facts.pretrained = true;
  facts.small_box = 0.05;
  RunConfig config;
  config.train.grow = 0.8f;
  config = chosen(facts, config);
  EXPECT_EQ(config.train.grow, 0.8f);
  EXPECT_EQ(config.train.sizes, (std::vector<InputSize>{224, 320, 416}));
  config.train.sizes = {352, 416};
  EXPECT_EQ(chosen(facts, config).train.sizes, (std::vector<InputSize>{352, 416})) << "as given";
  config.train.sizes = {320, 224};
  EXPECT_EQ(chosen(facts, config).train.sizes, (std::vector<InputSize>{224, 320, 416}))
      << "it is evaluated at 416";
  config.train.sizes = {224, 416, 512};
  EXPECT_THROW(chosen(facts, config), InputError);
  config.train.grow = 0;
  EXPECT_EQ(chosen(facts, config).train.sizes, (std::vector<InputSize>{224, 416, 512})) << "they are drawn";
}

}  // namespace
}  // namespace brightnet::testing
