#include "train/setup/automatic.h"

#include <gtest/gtest.h>

#include "tests/train/setup/chosen_values.h"

namespace brightnet::testing {
namespace {

int64_t steps_of(const RunConfig& config, int64_t images) {
  return config.train.epochs * ((images + config.train.batch - 1) / config.train.batch);
}

TEST(AutomaticValues, FineTuningToRoundingIsShortAndSlow) {
  RunFacts facts = facts_of(205);
  facts.pretrained = true;
  RunConfig quantizing;
  quantizing.train.quantize = true;
  const RunConfig config = chosen(facts, quantizing);
  EXPECT_FLOAT_EQ(config.optimizer.rate.value(), 0.01f * chosen(facts).optimizer.rate.value());
  EXPECT_EQ(config.train.epochs, 8) << "200 steps of 26 an epoch";
  facts.images = 4000;
  EXPECT_EQ(chosen(facts, quantizing).train.epochs, 5);
}

TEST(AutomaticValues, ARunHasEnoughEpochsAndEnoughSteps) {
  EXPECT_EQ(chosen(facts_of(130)).train.epochs, 177) << "3000 steps of 17 an epoch";
  EXPECT_EQ(chosen(facts_of(400)).train.epochs, 100) << "5000 steps";
  RunFacts facts = facts_of(130);
  facts.pretrained = true;
  EXPECT_EQ(chosen(facts).train.epochs, 59) << "1000 steps";
  facts.images = 4000;
  EXPECT_EQ(chosen(facts).train.epochs, 30);
}

/// `epochs` with batches of 8, or of 64 in a large set.
float rate_of(const RunFacts& facts, int epochs) {
  RunConfig config;
  config.train.epochs = epochs;
  config.train.batch = facts.images < 5000 ? 8 : 64;
  return chosen(facts, config).optimizer.rate.value();
}

TEST(AutomaticValues, RunsOfFewStepsFromScratchHaveAHigherRate) {
  EXPECT_EQ(rate_of(facts_of(800), 9), 0.003f);
  EXPECT_EQ(rate_of(facts_of(800), 10), 0.002f) << "1000 steps";
  EXPECT_EQ(rate_of(facts_of(20000), 200), 0.002f) << "a long run of a large set";
}

TEST(AutomaticValues, PretrainedLayersUnderNewPredictionsAdaptFasterWhereThereAreManyObjects) {
  const auto rate = [](bool new_predictions, int64_t boxes, int64_t images = 300) {
    RunFacts facts = facts_of(images);
    facts.pretrained = true;
    facts.new_predictions = new_predictions;
    facts.boxes = boxes;
    return rate_of(facts, 200);
  };
  EXPECT_EQ(rate(true, 1000), 0.004f);
  EXPECT_EQ(rate(true, 999), 0.002f);
  EXPECT_EQ(rate(false, 5000), 0.002f) << "the weights have the prediction layers, too";
  EXPECT_EQ(rate(true, 90000, 20000), 0.002f) << "a long run of a large set";
  RunConfig given;
  given.optimizer.rate = 0.01f;
  EXPECT_EQ(chosen(facts_of(300), given).optimizer.rate, 0.01f);
}

TEST(AutomaticValues, TheFirstConvolutionIsFrozenUnderNewPredictions) {
  using Names = std::vector<std::string>;
  const auto frozen = [](const char* first, bool new_predictions, int64_t images = 300,
                         RunConfig config = {}) {
    RunFacts facts = facts_of(images);
    facts.pretrained = true;
    facts.new_predictions = new_predictions;
    facts.first_convolution = first;
    config.train.epochs = 200;
    return chosen(facts, config).train.freeze.value();
  };
  EXPECT_EQ(frozen("conv1", true), Names{"conv1"});
  EXPECT_EQ(frozen("", true), Names{}) << "the weights lack it";
  EXPECT_EQ(frozen("conv1", false), Names{}) << "the weights have the prediction layers, too";
  EXPECT_EQ(frozen("conv1", true, 20000), Names{}) << "a long run of a large set";
  EXPECT_EQ(chosen(facts_of(300)).train.freeze.value(), Names{}) << "from scratch";
  RunConfig given;
  given.train.freeze = Names{};
  EXPECT_EQ(frozen("conv1", true, 300, given), Names{});
}

TEST(AutomaticValues, StepsThatWereAskedForMakeUpTheEpochs) {
  RunConfig config;
  config.train.iterations = 100;
  EXPECT_EQ(chosen(facts_of(130), config).train.epochs, 6);
}

TEST(AutomaticValues, WhatTheUserGaveStaysAndTheRestFollowsFromIt) {
  RunConfig config;
  config.train.batch = 32;
  config.ema.decay = 0;
  config.evaluate.every = 7;
  config.train.precision = Precision::fp32;
  config.loader.workers = 0;
  const auto choices = choose_automatic(config, facts_of(320));
  EXPECT_EQ(config.train.batch, 32);
  EXPECT_EQ(config.train.epochs, 300) << "3000 steps of 10 an epoch";
  EXPECT_EQ(config.ema.decay, 0);
  EXPECT_EQ(config.ema.ramp, 400);
  EXPECT_EQ(config.evaluate.every, 7);
  EXPECT_EQ(config.train.precision, Precision::fp32);
  EXPECT_EQ(config.loader.workers, 0);
  for (const Choice& choice : choices) {
    for (const char* given :
         {"train.batch", "ema.decay", "evaluate.every", "train.precision", "loader.workers"})
      EXPECT_NE(choice.key, given);
  }
}

TEST(AutomaticValues, TheWarmUpIsThreeEpochsOrAHundredStepsButNoTenthOfTheRun) {
  const auto warmup_steps = [](RunConfig config, int64_t images) {
    choose_automatic(config, facts_of(images));
    config.optimizer.rate = 1;
    const int64_t steps_per_epoch = (images + config.train.batch - 1) / config.train.batch;
    const Schedule schedule(config.schedule, 1, steps_per_epoch, steps_of(config, images));
    return schedule.warmup();
  };
  EXPECT_EQ(warmup_steps({}, 130), 100) << "three epochs are 51";
  EXPECT_EQ(warmup_steps({}, 400), 150) << "three epochs";
  RunConfig brief;
  brief.train.epochs = 10;
  EXPECT_EQ(warmup_steps(brief, 130), 33) << "of 330 steps";
  RunConfig in_steps;
  in_steps.schedule.unit = ScheduleUnit::iterations;
  EXPECT_EQ(warmup_steps(in_steps, 130), 100);
  EXPECT_EQ(warmup_steps({}, 20000), 1000) << "YOLOv4's";
}

TEST(AutomaticValues, TheWarmUpIsLinearExceptForLargeSets) {
  EXPECT_EQ(chosen(facts_of(4999)).schedule.power, 1);
  EXPECT_EQ(chosen(facts_of(20000)).schedule.power, 4) << "YOLOv4's";
  RunConfig given;
  given.schedule.power = 2;
  EXPECT_EQ(chosen(facts_of(300), given).schedule.power, 2);
}

TEST(AutomaticValues, YoloV4sWarmUpAndAverageAreForLongRunsOfLargeSets) {
  const auto run = [](int64_t images, int iterations) {
    RunConfig config;
    config.train.iterations = iterations;
    config.schedule.unit = ScheduleUnit::iterations;
    return chosen(facts_of(images), config);
  };
  const RunConfig long_one = run(6000, 10000), shorter = run(6000, 9999), small = run(4999, 10000);
  EXPECT_EQ(long_one.schedule.warmup, 1000);
  EXPECT_EQ(long_one.schedule.power, 4);
  EXPECT_FLOAT_EQ(long_one.ema.decay, 0.9998f);
  EXPECT_EQ(long_one.ema.ramp, 2000);
  EXPECT_EQ(long_one.train.grow, 0);
  EXPECT_EQ(long_one.augment.mosaic_off, 0.1f);
  EXPECT_EQ(shorter.schedule.warmup, 282) << "three epochs";
  for (const RunConfig& other : {shorter, small}) {
    EXPECT_EQ(other.schedule.power, 1);
    EXPECT_EQ(other.ema.ramp, 1300);
    EXPECT_GT(other.train.grow, 0);
    EXPECT_EQ(other.augment.mosaic_off, 0.3f);
  }
  RunConfig brief;
  brief.train.minutes = 8;
  const RunConfig large = chosen(facts_of(5000), brief), middling = chosen(facts_of(4999), brief);
  EXPECT_EQ(large.ema.decay, middling.ema.decay.value());
  EXPECT_EQ(large.ema.ramp, middling.ema.ramp.value());
  EXPECT_EQ(large.schedule.power, middling.schedule.power.value());
}

TEST(AutomaticValues, TheRateIsThatOfTheOptimizer) {
  const auto rate = [](OptimizerKind kind) {
    RunConfig config;
    config.optimizer.kind = kind;
    return chosen(facts_of(300), config).optimizer.rate.value();
  };
  EXPECT_EQ(rate(OptimizerKind::sgd), 0.01f);
  EXPECT_EQ(rate(OptimizerKind::lion), 0.0002f);
  EXPECT_LT(rate(OptimizerKind::adamw), 0.01f);
}

TEST(AutomaticValues, TheAverageSpansAThirdOfTheRunOrATenthOfFewSteps) {
  const auto average = [](int epochs, int64_t images = 800) {
    RunConfig config;
    config.train.epochs = epochs;
    config.train.batch = 16;
    return chosen(facts_of(images), config).ema;
  };
  const EmaOptions usual = average(30);  // 1500 steps
  EXPECT_FLOAT_EQ(usual.decay, 0.998f);
  EXPECT_FLOAT_EQ(usual.ramp, 200);
  EXPECT_FLOAT_EQ(average(20).decay, 0.997f) << "1000 steps";
  EXPECT_FLOAT_EQ(average(19).decay, 0.989f) << "950 steps";
  const EmaOptions tiny = average(1), big = average(1000);
  EXPECT_FLOAT_EQ(tiny.decay, 0.9f);
  EXPECT_FLOAT_EQ(tiny.ramp, 10);
  EXPECT_FLOAT_EQ(big.decay, 0.9998f);
  EXPECT_FLOAT_EQ(big.ramp, 2000);
  EXPECT_FLOAT_EQ(average(100, 6000).decay, 0.9998f) << "a large set";
}

TEST(AutomaticValues, ReadBackAsTheSameNumbers) {
  for (const int64_t images : {1, 7, 57, 130, 333, 1234, 4999}) {
    for (const int epochs : {1, 7, 31, 333}) {
      RunConfig config;
      config.train.epochs = epochs;
      choose_automatic(config, facts_of(images));
      RunConfig again;
      read_config(YamlDocument::parse(print_config(config), "run.yaml").root(), again);
      EXPECT_EQ(again.schedule.warmup, config.schedule.warmup.value());
      EXPECT_EQ(again.ema.decay, config.ema.decay.value());
      EXPECT_EQ(again.ema.ramp, config.ema.ramp.value());
      EXPECT_EQ(again.augment.mosaic_off, config.augment.mosaic_off.value());
      EXPECT_EQ(again.loader.cache_mb, config.loader.cache_mb.value());
    }
  }
}

TEST(AutomaticValues, ThereAreTwentyToThirtyEvaluationsWhereThereAreEpochsEnough) {
  for (const int epochs : {1, 10, 25, 49, 50, 100, 177, 300, 1500}) {
    RunConfig config;
    config.train.epochs = epochs;
    choose_automatic(config, facts_of(400));
    const int every = config.evaluate.every;
    if (epochs < 38) {
      EXPECT_EQ(every, 1);
      continue;
    }
    EXPECT_GE(epochs / every, 20) << epochs;
    EXPECT_LE(epochs / every, 30) << epochs;
  }
}

TEST(AutomaticValues, ALargeValidationSplitIsEvaluatedLessOftenButFiveTimes) {
  const auto every = [](int64_t images, int64_t validation_images, int epochs) {
    RunConfig config;
    config.train.epochs = epochs;
    RunFacts facts = facts_of(images);
    facts.validation_images = validation_images;
    return chosen(facts, config).evaluate.every.value();
  };
  EXPECT_EQ(every(400, 100, 100), 4) << "25 evaluations, 2 % of the time";
  EXPECT_EQ(every(400, 1000, 100), 9) << "an evaluation is 0.83 epochs";
  EXPECT_EQ(every(50, 5000, 429), 85) << "five, though they take 28 % of the time";
  EXPECT_EQ(every(50, 5000, 3), 1) << "a short run";
}

TEST(AutomaticValues, PatienceIsForLongRunsWithoutALimitOfTime) {
  EXPECT_EQ(chosen(facts_of(130)).train.patience, 0) << "3000 steps";
  EXPECT_EQ(chosen(facts_of(20000)).train.patience, 10) << "31300 steps, 25 evaluations";
  RunConfig long_enough, shorter;
  long_enough.train.iterations = 10000;
  shorter.train.iterations = 9999;
  EXPECT_EQ(chosen(facts_of(130), long_enough).train.patience, 10) << "589 epochs, every 24th is evaluated";
  EXPECT_EQ(chosen(facts_of(130), shorter).train.patience, 0);
  RunConfig config;
  config.evaluate.every = 1;
  EXPECT_EQ(chosen(facts_of(20000), config).train.patience, 34) << "a third of 100";
  config.train.minutes = 600;
  EXPECT_EQ(chosen(facts_of(20000), config).train.patience, 0);
}

TEST(AutomaticValues, WithALimitOfTimeTheEpochsStayAutomaticAndTheRestFollowsFromTheStepsThatFit) {
  RunConfig config;
  config.train.minutes = 8;
  RunFacts facts = facts_of(160);
  std::vector<Choice> choices = choose_automatic(config, facts);
  EXPECT_FALSE(config.train.epochs.has_value());
  EXPECT_EQ(choice_of("train.epochs", choices).value, "auto");
  EXPECT_EQ(config.train.batch, 4) << "of an estimated 8000 images";
  EXPECT_FLOAT_EQ(config.schedule.warmup, 3) << "less than a tenth of an estimated 2000 steps of 40 an epoch";
  EXPECT_FLOAT_EQ(config.ema.decay, 0.9985f);
  EXPECT_FALSE(config.evaluate.every.has_value()) << "the plan decides";
}

TEST(AutomaticValues, ATableSaysEachValueAndItsReason) {
  const auto lines = describe({{"train.batch", "8", "130 training images"}, {"ema.decay", "0.998", "short"}});
  EXPECT_EQ(lines, (std::vector<std::string>{"  train.batch  8      130 training images",  //
                                             "  ema.decay    0.998  short"}));
}

TEST(AutomaticValues, EveryAutomaticValueIsChosenWithAReason) {
  RunConfig config;
  for (const Choice& choice : choose_automatic(config, facts_of(100))) {
    EXPECT_FALSE(choice.value.empty()) << choice.key;
    EXPECT_FALSE(choice.reason.empty()) << choice.key;
  }
  config.train.micro_batch = 1;
  config.train.static_assignment = 0.0f;    // the head's (automatic_head.h)
  config.loader.paint = LoaderDevice::cpu;  // it stays automatic: the machine that goes on decides
  EXPECT_EQ(print_config(config, false).find("auto\n"), std::string::npos) << print_config(config, false);
}

}  // namespace
}  // namespace brightnet::testing
