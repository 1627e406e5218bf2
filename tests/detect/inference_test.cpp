#include "detect/inference.h"

#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"
#include "tests/train/small_weights.h"

namespace brightnet {
namespace {

/// A CPU with as much free memory as a test wants.
class FullBackend : public cpu::CpuBackend {
 public:
  size_t free = size_t{1} << 40;
  size_t free_bytes() const override { return free; }
};

// The caller who hears of too little memory may ask again.
TEST(InferenceNetworkOf, ALargerSizeThatDidNotFitGetsItsMemoryLater) {
  const testing::SmallRun run(1, 1);
  FullBackend backend;
  InferenceNetwork inference(load_trained_model(testing::write_small_weights(run)), backend, {.batch = 1});
  const size_t before = backend.allocated_bytes();
  InputFit fit = inference.fit();
  const std::vector<uint8_t> own(3 * fit.size.pixels());
  fit.size = InputSize(4 * inference.size().height);
  const std::vector<uint8_t> larger(3 * fit.size.pixels());
  backend.free = 0;
  EXPECT_THROW(inference.engine().candidates(larger.data(), fit, 0.5f), InputError);
  EXPECT_LT(backend.allocated_bytes(), before) << "the smaller one is given back before";
  EXPECT_THROW(inference.engine().candidates(larger.data(), fit, 0.5f), InputError);
  backend.free = size_t{1} << 40;
  inference.engine().candidates(own.data(), inference.fit(), 0.5f);
  EXPECT_EQ(backend.allocated_bytes(), before);
  inference.engine().candidates(larger.data(), fit, 0.5f);
  EXPECT_GT(backend.allocated_bytes(), before);
}

}  // namespace
}  // namespace brightnet
