// What decides whether a fused engine of cuDNN is trusted.
#include "kernels/cuda/engine_agreement.h"

#include <cmath>
#include <limits>

#include "kernels/cuda/cuda_backend.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

TEST(CudaEngineAgreement, ASampleIsTheTensorsFirstNumbers) {
  auto& backend = static_cast<cuda::CudaBackend&>(device());
  for (const DType type : compute_types()) {
    for (const int count : {1, 1000, 300000}) {
      OwnedTensor tensor({1, 1, 1, count}, type);
      tensor.randomize(1);
      const cuda::Sample sample(*tensor, backend.stream());
      ASSERT_EQ(sample.values().size(), std::min<size_t>(static_cast<size_t>(count), 1 << 18));
      for (size_t i = 0; i < sample.values().size(); i += 97)
        EXPECT_EQ(static_cast<double>(sample.values()[i]), tensor[i]);
    }
  }
}

TEST(CudaEngineAgreement, RoundingIsAgreedWithAndAnythingElseIsNot) {
  Random random(1, Purpose::test);
  std::vector<float> numbers(1000);
  for (float& number : numbers) number = random.normal();
  const cuda::Sample expected(numbers);
  const auto with = [&](auto&& change) {
    std::vector<float> changed = numbers;
    for (float& number : changed) number = change(number);
    return agree(expected, cuda::Sample(changed));
  };
  EXPECT_TRUE(with([](float v) { return v; }));
  EXPECT_TRUE(with([](float v) { return v * 1.01f; }));
  EXPECT_TRUE(with([](float v) { return static_cast<float>(BFloat16(v)); }));
  EXPECT_FALSE(with([](float v) { return v * 1.03f; }));
  EXPECT_FALSE(with([](float v) { return v > 0 ? v : 0.1f * v; })) << "an activation that was forgotten";
  EXPECT_FALSE(with([](float v) { return v > 0 ? v : 0.0f; }));
  EXPECT_FALSE(with([](float) { return 0.0f; }));
  EXPECT_FALSE(with([](float) { return std::nanf(""); }));
  EXPECT_FALSE(with([](float) { return std::numeric_limits<float>::infinity(); }));
  EXPECT_FALSE(agree(cuda::Sample(std::vector<float>(10)), cuda::Sample(std::vector<float>(10))));
  EXPECT_FALSE(agree(expected, cuda::Sample(std::vector<float>(10, 1.0f))));
}

}  // namespace
}  // namespace brightnet::testing
