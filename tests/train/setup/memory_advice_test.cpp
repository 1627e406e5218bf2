#include "train/setup/memory_advice.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "data/loader/loader.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::shipped_model;

/// A CPU with as much free memory as a test wants.
class SmallBackend : public cpu::CpuBackend {
 public:
  size_t free = 0;
  size_t free_bytes() const override { return free; }
};

RunConfig tiny_run() {
  RunConfig config;
  config.train.size =
      256;  // large enough for the activations to outweigh what a convolution wants of its own
  config.train.batch = 16;
  config.train.micro_batch = 16;
  config.train.precision = Precision::fp32;
  config.ema.decay = 0.9998f;
  return config;
}

size_t peak_with(RunConfig config, const Model& model, Backend& backend, int micro_batch) {
  config.train.micro_batch = micro_batch;
  return plan_run(config, model, backend, micro_batch).memory.peak();
}

/// What tiny_run() loads its images into.
size_t loaded(const Model& model) {
  Loader::Setup setup;
  setup.loader = tiny_run().loader;
  setup.batch = 16;
  setup.sizes = {256};
  setup.channels = model.channels;
  return Loader::buffer_bytes(setup);
}

TEST(MemoryAdvice, NothingIsSaidOfARunThatFits) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  backend.free = peak_with(tiny_run(), model, backend, 16) + loaded(model);
  EXPECT_NO_THROW(check_memory(tiny_run(), model, backend));
  // The batches that are loaded lie in the CPU's memory as well, and those of other ranks.
  --backend.free;
  EXPECT_THROW(check_memory(tiny_run(), model, backend), InputError);
  backend.free = 3 * (backend.free + 1);
  EXPECT_NO_THROW(check_memory(tiny_run(), model, backend, 3));
  EXPECT_THROW(check_memory(tiny_run(), model, backend, 4), InputError);
}

TEST(MemoryAdvice, ParametersThatDoNotFitAreRefusedBeforeThereAreAny) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  const ParameterLayout layout(model);
  // Values, initial values, gradients and a moment.
  const size_t needed = 2 * (layout.floats() + layout.trainable_floats()) * sizeof(float);
  backend.free = needed;
  EXPECT_NO_THROW(check_parameter_memory(model, layout, backend));
  backend.free = needed - 1;
  try {
    check_parameter_memory(model, layout, backend);
    FAIL() << "no error";
  } catch (const InputError& error) {
    const std::string text = error.what();
    for (const std::string& word : {format_bytes(static_cast<double>(needed)), std::string("yolov4-tiny"),
                                    std::to_string(layout.trainable_parameters()) + " parameters"})
      EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  }
}

TEST(MemoryAdvice, MorePixelsThanCanBeCountedDoNotFit) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  RunConfig config = tiny_run();
  config.train.size = 1536;
  EXPECT_EQ(most_countable_images(config), 910);
  const size_t budget = plan_run(config, model, backend, 4).memory.peak();
  EXPECT_EQ(choose_micro_batch(config, model, backend, 1024, budget, 1), 4);
  EXPECT_EQ(largest_batch(config, model, backend, size_t{1} << 50), 910);
}

TEST(MemoryAdvice, SaysWhatWasAskedWhatIsFreeAndWhatWouldFit) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  const size_t asked = peak_with(tiny_run(), model, backend, 16) + loaded(model);
  backend.free = peak_with(tiny_run(), model, backend, 8) + loaded(model) + 1;
  ASSERT_LT(backend.free, asked);
  try {
    check_memory(tiny_run(), model, backend);
    FAIL() << "no error";
  } catch (const InputError& error) {
    const std::string text = error.what();
    for (const std::string& word :
         {format_bytes(static_cast<double>(asked)), format_bytes(static_cast<double>(backend.free)),
          std::string("--set train.micro_batch=8"), std::string("--set train.size="),
          std::string("256 pixels"), std::string("yolov4-tiny")})
      EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  }
}

TEST(MemoryAdvice, WhatItProposesFitsBesideTheOtherRanks) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  const size_t four = peak_with(tiny_run(), model, backend, 4) + loaded(model) + 1;
  ASSERT_GT(2 * four, peak_with(tiny_run(), model, backend, 8) + loaded(model)) << "one rank could have 8";
  backend.free = 2 * four;
  try {
    check_memory(tiny_run(), model, backend, 2);
    FAIL() << "no error";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("--set train.micro_batch=4 ("), std::string::npos) << text;
    EXPECT_EQ(text.find("--set train.micro_batch=8 ("), std::string::npos) << text;
  }
}

TEST(MemoryAdvice, EverythingProposedFitsAndTheNextLargerDoesNot) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  const size_t free = peak_with(tiny_run(), model, backend, 4) + 1;
  const auto proposals = what_fits(tiny_run(), model, backend, free);
  ASSERT_FALSE(proposals.empty());
  EXPECT_EQ(proposals[0].rfind("--set train.micro_batch=4 ", 0), 0) << proposals[0];
  EXPECT_GT(peak_with(tiny_run(), model, backend, 8), free);
}

TEST(MemoryAdvice, ProposesRecomputedActivationsWhereTheyFitAndAreNotThereYet) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  RunConfig recomputed = tiny_run();
  recomputed.train.recompute = Recompute::activations;
  const size_t free = peak_with(recomputed, model, backend, 16) + 1;
  ASSERT_LT(free, peak_with(tiny_run(), model, backend, 16));
  const auto proposed = [&](const RunConfig& config) {
    const auto all = what_fits(config, model, backend, free);
    return std::any_of(all.begin(), all.end(), [](const auto& text) {
      return text.starts_with("--set train.recompute=activations ");
    });
  };
  EXPECT_TRUE(proposed(tiny_run()));
  EXPECT_FALSE(proposed(recomputed));
}

// Of its gates' batch-norm a single image leaves one value of each channel, which the run's own check refuses.
TEST(MemoryAdvice, NoMicroBatchIsChosenOrProposedThatARunRefuses) {
  SmallBackend backend;
  const Model model = testing::model_of(
      "head: {anchors: [[8, 8]]}\nlayers:\n  - conv: {name: whole, filters: 8, stride: 32}\n"
      "  - global_average_pool: {}\n  - conv: {name: gates, filters: 8, size: 1}\n"
      "  - scale_channels: {from: [whole, gates]}\n"
      "  - conv: {filters: auto, size: 1, batch_norm: false}\n  - yolo: {mask: [0]}\n",
      2);
  RunConfig config = tiny_run();
  const size_t one = peak_with(config, model, backend, 1), two = peak_with(config, model, backend, 2);
  ASSERT_LT(one, two);
  const auto proposes = [&](const std::string& argument, size_t free, int ranks) {
    const auto all = what_fits(config, model, backend, free, ranks);
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& text) { return text.starts_with(argument + ' '); });
  };
  EXPECT_FALSE(proposes("--set train.micro_batch=1", one, 1));
  EXPECT_TRUE(proposes("--set train.micro_batch=2", two, 1));
  EXPECT_THROW(choose_micro_batch(config, model, backend, 16, one), InputError);
  EXPECT_EQ(choose_micro_batch(config, model, backend, 16, two), 2);
  EXPECT_EQ(choose_micro_batch(config, model, backend, 1, two), 1) << "there is no more than one image";
  EXPECT_EQ(largest_batch(config, model, backend, one), 0);
  EXPECT_GE(largest_batch(config, model, backend, two), 2);
  config.train.sync_bn = true;
  const size_t shared = peak_with(config, model, backend, 1);
  EXPECT_TRUE(proposes("--set train.micro_batch=1", shared, 2)) << "of both ranks' images";
  EXPECT_EQ(choose_micro_batch(config, model, backend, 16, shared, 2), 1);
}

TEST(MemoryAdvice, AMachineThatHoldsNotEvenOneImageIsToldSo) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  backend.free = size_t{1} << 20;
  try {
    check_memory(tiny_run(), model, backend);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("micro_batch=1"), std::string::npos) << error.what();
  }
}

TEST(MemoryAdvice, AutoPlansForAFractionOfWhatIsFree) {
  SmallBackend backend;
  backend.free = 1000;
  RunConfig config;
  EXPECT_EQ(memory_budget(config, backend), 600u);
  struct TakenForGpu : SmallBackend {
    bool works_beside_host() const override { return true; }
  } gpu;
  gpu.free = 1000;
  EXPECT_EQ(memory_budget(config, gpu), 900u);
  config.train.memory_fraction = 0.25f;
  EXPECT_EQ(memory_budget(config, backend), 250u);
}

}  // namespace
}  // namespace brightnet
