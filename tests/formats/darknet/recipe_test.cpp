// The training configuration that comes of a .cfg's [net].
#include "formats/darknet/recipe.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "formats/darknet/import.h"
#include "tests/formats/small_cfg.h"
#include "train/config/config.h"
#include "train/setup/model.h"

namespace brightnet::testing {
namespace {

TEST(DarknetRecipe, MakesDarknetsSteps) {
  const auto imported = import_darknet_text(small_cfg, "small.cfg", "small.yaml");
  RunConfig config;
  read_config(YamlDocument::parse(imported.recipe_yaml, "recipe").root(), config);
  EXPECT_EQ(config.model, "small.yaml");
  EXPECT_EQ(config.train.batch, 8);
  EXPECT_EQ(config.train.micro_batch, 4);
  EXPECT_EQ(config.train.iterations, 2000);
  EXPECT_EQ(config.train.sizes,
            (std::vector<InputSize>{64, 96, 128}));  // random=1: round(64 / 1.4 / 32) + 1 = 2 to 4
  EXPECT_EQ(config.optimizer.kind, OptimizerKind::sgd);
  EXPECT_EQ(config.optimizer.decay_kind, DecayKind::l2);
  EXPECT_FLOAT_EQ(config.optimizer.rate, 0.001f);
  EXPECT_FLOAT_EQ(config.optimizer.decay, 0.0005f);
  EXPECT_EQ(config.optimizer.clip, 0) << "darknet does not clip";
  EXPECT_EQ(config.schedule.kind, ScheduleKind::steps);
  EXPECT_EQ(config.schedule.unit, ScheduleUnit::iterations);
  EXPECT_EQ(config.schedule.steps, (std::vector<float>{1600, 1800}));
  EXPECT_EQ(config.schedule.scales, (std::vector<float>{0.1f, 0.1f}));
  EXPECT_FLOAT_EQ(config.schedule.warmup.value(), 100);
  EXPECT_FLOAT_EQ(config.schedule.power.value(), 4);
  EXPECT_FLOAT_EQ(config.optimizer.momentum, 0.9f);
  EXPECT_FLOAT_EQ(config.augment.jitter, 0.3f);
  EXPECT_FLOAT_EQ(config.augment.flip, 0.5f);
  EXPECT_FLOAT_EQ(config.augment.saturation, 1);
  EXPECT_FLOAT_EQ(config.augment.exposure, 1);
  EXPECT_FLOAT_EQ(config.ema.decay, 0);
  EXPECT_EQ(config.train.patience, 0);
  EXPECT_TRUE(is_left_to(config.head.anchors, LeftTo::model));
  EXPECT_FLOAT_EQ(config.augment.mosaic, 0.5f);
  EXPECT_FLOAT_EQ(config.augment.mosaic_off.value_or(-1), 0) << "to the end of the run";
  EXPECT_FLOAT_EQ(config.augment.resize, 1.5f);
  EXPECT_FLOAT_EQ(config.augment.hue, 0);
  EXPECT_TRUE(config.augment.letterbox);
  const NmsOptions nms = for_model(config.evaluate.nms, imported.model);
  EXPECT_EQ(nms.kind, NmsMethod::diou);
  EXPECT_FLOAT_EQ(nms.beta, 0.6f);
}

RunConfig config_of_recipe(const std::string& cfg) {
  RunConfig config;
  const auto imported = import_darknet_text(cfg, "small.cfg");
  read_config(YamlDocument::parse(imported.recipe_yaml, "recipe").root(), config);
  return config;
}

// Of 320 pixels: round(320 / 1.2 / 32) + 1 = 9 to round(320 · 1.2 / 32) + 1 = 13 times 32.
TEST(DarknetRecipe, TakesTheRangeOfSizesThatRandomNames) {
  const std::string larger = with(small_cfg, "width=64\nheight=64", "width=320\nheight=320");
  EXPECT_EQ(config_of_recipe(with(larger, "random=1", "random=1.2")).train.sizes,
            (std::vector<InputSize>{288, 320, 352, 384, 416}));
}

// Of 320 pixels: round(320 / 1.4 / 64) + 1 = 5 to round(320 · 1.4 / 64) + 1 = 8 times 64.
TEST(DarknetRecipe, SizesAreApartByWhatTheFileSays) {
  const std::string larger = with(small_cfg, "width=64\nheight=64", "width=320\nheight=320\nresize_step=64");
  EXPECT_EQ(config_of_recipe(larger).train.sizes, (std::vector<InputSize>{320, 384, 448, 512}));
}

TEST(DarknetRecipe, AStepOfSizesIsSaidToHaveNoEffectWhereThereAreNoSizes) {
  const auto notes_of = [](const std::string& cfg) {
    std::string notes;
    for (const ImportNote& note : import_darknet_text(cfg, "small.cfg").notes)
      notes += note.where + ": " + note.text + '\n';
    return notes;
  };
  const std::string stepped = with(small_cfg, "burn_in=100", "burn_in=100\nresize_step=64");
  const std::string fixed = notes_of(with(stepped, "random=1", "random=0"));
  EXPECT_NE(fixed.find("small.cfg:11: resize_step has no effect without random"), std::string::npos) << fixed;
  EXPECT_EQ(fixed.find("'resize_step' is not read by darknet"), std::string::npos) << fixed;
  EXPECT_EQ(notes_of(stepped).find("resize_step"), std::string::npos);
}

TEST(DarknetRecipe, AveragesTheWeightsWhereTheFileDoes) {
  EXPECT_FLOAT_EQ(config_of_recipe(with(small_cfg, "burn_in=100", "burn_in=100\nema_alpha=0.9998")).ema.decay,
                  0.9998f);
}

TEST(DarknetRecipe, WarmsUpByThePowerThatTheFileNames) {
  EXPECT_FLOAT_EQ(
      config_of_recipe(with(small_cfg, "burn_in=100", "burn_in=100\npower=2")).schedule.power.value(), 2);
}

TEST(DarknetRecipe, NamesTheScheduleOfEachPolicy) {
  const std::string steps = "policy=steps\nsteps=1600,1800\nscales=.1,.1";
  for (const auto& [policy, schedule] : {std::pair("policy=constant", "schedule: {kind: constant,"),
                                         {"policy=sgdr", "schedule: {kind: cosine,"},
                                         {"policy=sgdr\nsgdr_cycle=2000", "schedule: {kind: cosine,"}}) {
    const auto imported = import_darknet_text(with(small_cfg, steps, policy), "small.cfg");
    EXPECT_NE(imported.recipe_yaml.find(schedule), std::string::npos) << policy << imported.recipe_yaml;
  }
}

TEST(DarknetRecipe, TakesColoursMirroringAndTheLastRateOver) {
  const std::string colours =
      with(small_cfg, "mosaic=1", "saturation=0.5\nexposure=1.5\nhue=.1\nflip=0\nmixup=1");
  const auto imported = import_darknet_text(
      with(colours, "policy=steps\nsteps=1600,1800\nscales=.1,.1", "policy=sgdr\nlearning_rate_min=0.0002"),
      "small.cfg");
  RunConfig config;
  read_config(YamlDocument::parse(imported.recipe_yaml, "recipe").root(), config);
  EXPECT_FLOAT_EQ(config.augment.saturation, 2) << "a factor and its inverse are as likely";
  EXPECT_FLOAT_EQ(config.augment.exposure, 1.5f);
  EXPECT_FLOAT_EQ(config.augment.hue, 0.1f);
  EXPECT_FLOAT_EQ(config.augment.flip, 0);
  EXPECT_FLOAT_EQ(config.augment.mosaic, 0);
  EXPECT_FLOAT_EQ(config.augment.mixup, 0.5f);
  EXPECT_NEAR(config.schedule.final, 0.2, 1e-6) << "of learning_rate=0.001";
}

TEST(DarknetRecipe, FreezesWhatStopbackwardFreezes) {
  const auto imported =
      import_darknet_text(with(small_cfg, "filters=12", "stopbackward=1\nfilters=12"), "small.cfg");
  const auto freeze_of = [](const DarknetImport& import) {
    RunConfig config;
    read_config(YamlDocument::parse(import.recipe_yaml, "recipe").root(), config);
    return config.train.freeze.value();
  };
  EXPECT_EQ(freeze_of(imported), std::vector<std::string>{"10"});
  EXPECT_TRUE(freeze_of(import_darknet_text(small_cfg, "small.cfg")).empty()) << "which is not `auto`";
  const auto for_a_while =
      import_darknet_text(with(small_cfg, "filters=12", "stopbackward=800\nfilters=12"), "small.cfg");
  EXPECT_TRUE(freeze_of(for_a_while).empty()) << "of another number darknet freezes so many steps";
  const bool said =
      std::any_of(for_a_while.notes.begin(), for_a_while.notes.end(), [](const ImportNote& note) {
        return note.text.starts_with("stopbackward=800 ") &&
               note.text.find("is left out") != std::string::npos;
      });
  EXPECT_TRUE(said);
  EXPECT_EQ(std::get<ConvAttributes>(imported.model.layers[9].attributes).filters, 12)
      << "the tenth, pools merged";
}

TEST(DarknetRecipe, BlursAndAddsNoiseAsOftenAsDarknet) {
  const auto augment_of = [](const std::string& keys, std::string& notes) {
    const auto imported = import_darknet_text(with(small_cfg, "letter_box=1", keys), "small.cfg");
    for (const ImportNote& note : imported.notes) notes += note.text + '\n';
    RunConfig config;
    read_config(YamlDocument::parse(imported.recipe_yaml, "recipe").root(), config);
    return config.augment;
  };
  std::string notes;
  AugmentOptions augment = augment_of("blur=1\ngaussian_noise=200", notes);
  EXPECT_FLOAT_EQ(augment.blur, 0);
  EXPECT_NEAR(augment.blur_background, 2.0 / 3, 1e-4);
  EXPECT_NEAR(augment.blur_background_sigma.low, 0.3 * (8 - 1) + 0.8, 1e-6) << "OpenCV's for 17 pixels";
  EXPECT_FLOAT_EQ(augment.noise, 0.5f);
  EXPECT_FLOAT_EQ(augment.noise_sigma.high, 127);
  EXPECT_NE(notes.find("seams"), std::string::npos) << notes;
  EXPECT_NE(notes.find("brighter"), std::string::npos) << notes;
  notes.clear();
  augment = augment_of("blur=6\nmosaic_bound=1", notes);
  EXPECT_NEAR(augment.blur, 1.0 / 3, 1e-4);
  EXPECT_NEAR(augment.blur_sigma.low, 0.3 * (3 - 1) + 0.8, 1e-6) << "for 7 pixels";
  EXPECT_NEAR(augment.blur_background, 1.0 / 3, 1e-4);
  EXPECT_EQ(notes.find("seams"), std::string::npos) << notes;
}

}  // namespace
}  // namespace brightnet::testing
