#include "train/setup/memory_advice.h"

#include <gtest/gtest.h>

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
  config.train.size = 256;  // large enough for the activations to outweigh what a convolution wants of its own
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

TEST(MemoryAdvice, NothingIsSaidOfARunThatFits) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  backend.free = peak_with(tiny_run(), model, backend, 16);
  EXPECT_NO_THROW(check_memory(tiny_run(), model, backend));
}

TEST(MemoryAdvice, SaysWhatWasAskedWhatIsFreeAndWhatWouldFit) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  const size_t asked = peak_with(tiny_run(), model, backend, 16);
  backend.free = peak_with(tiny_run(), model, backend, 8) + 1;
  ASSERT_LT(backend.free, asked);
  try {
    check_memory(tiny_run(), model, backend);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    for (const std::string& word :
         {format_bytes(static_cast<double>(asked)), format_bytes(static_cast<double>(backend.free)),
          std::string("--set train.micro_batch=8"), std::string("--set train.size="),
          std::string("256 pixels"), std::string("yolov4-tiny")})
      EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
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

TEST(MemoryAdvice, AMachineThatHoldsNotEvenOneImageIsToldSo) {
  SmallBackend backend;
  const Model model = shipped_model("yolov4-tiny", 2);
  backend.free = size_t{1} << 20;
  try {
    check_memory(tiny_run(), model, backend);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("micro_batch=1"), std::string::npos) << error.what();
  }
}

TEST(MemoryAdvice, AutoPlansForAFractionOfWhatIsFree) {
  SmallBackend backend;
  backend.free = 1000;
  RunConfig config;
  EXPECT_EQ(memory_budget(config, backend), 600u);
  config.train.memory_fraction = 0.25f;
  EXPECT_EQ(memory_budget(config, backend), 250u);
}

}  // namespace
}  // namespace brightnet
