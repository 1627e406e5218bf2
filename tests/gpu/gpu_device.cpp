// The GPU suite's device: the first GPU that can be used. Without one every test is skipped, with the reason.
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cuda/installation.h"
#include "tests/kernels/device.h"

namespace brightnet::testing {
namespace {

std::string why_no_gpu() {
  const auto problem = cuda::why_unusable(cuda::inspect(0), 0);
  return problem ? problem->what : "";
}

class GpuNeeded : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string reason = why_no_gpu();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

const auto* const needed = ::testing::AddGlobalTestEnvironment(new GpuNeeded);

}  // namespace

const TestedDevice& tested_device() {
  // Never destroyed: when static destructors run, cuDNN and the driver may have ended already.
  static Backend& backend = *cuda::make_backend({.engines = cuda::EngineSelection::recommended}).release();
  static const std::vector<DType> types = cuda::why_not_in(Precision::bf16, cuda::inspect(0).gpus.at(0))
                                              ? std::vector{DType::f32, DType::f16}
                                              : std::vector{DType::f32, DType::bf16, DType::f16};
  // __expf and fast division: some units in the last place in the middle, and some ten in the tails, where
  // the rounding of x · log2(e) becomes the exponential's.
  static const TestedDevice device{backend, types, 5e-6};
  return device;
}

}  // namespace brightnet::testing
