#include "core/threads.h"
#include "kernels/cpu/elementwise.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

std::vector<float> random_array(size_t count) {
  Random random(41, Purpose::test, 0, count);
  std::vector<float> x(count);
  for (float& value : x) value = 100 * random.normal();
  return x;
}

constexpr size_t counts[] = {0, 1, 31, 33, 4095, 4097, 70001, 3000001};

TEST(SumOfSquares, EqualsTheSumInExtendedPrecision) {
  for (const size_t count : counts) {
    const std::vector<float> x = random_array(count);
    long double expected = 0;
    for (const float value : x) expected += static_cast<long double>(value) * value;
    EXPECT_NEAR(cpu::sum_of_squares(x.data(), count), expected, 1e-13L * expected) << count;
  }
}

TEST(SumOfSquares, IsBitIdenticalForAnyNumberOfThreads) {
  const int threads = omp_get_max_threads();
  for (const size_t count : counts) {
    const std::vector<float> x = random_array(count);
    omp_set_num_threads(1);
    const double alone = cpu::sum_of_squares(x.data(), count);
    for (const int many : {2, 3, 7}) {
      omp_set_num_threads(many);
      EXPECT_EQ(cpu::sum_of_squares(x.data(), count), alone) << count << " by " << many;
    }
  }
  omp_set_num_threads(threads);
}

TEST(SumOfSquares, DoesNotOverflowForFiniteNumbers) {
  const std::vector<float> x(1000, std::numeric_limits<float>::max());
  const double largest = std::numeric_limits<float>::max();
  EXPECT_DOUBLE_EQ(cpu::sum_of_squares(x.data(), x.size()), 1000 * largest * largest);
}

TEST(SumOfSquares, ReportsAnyElementThatIsNotFinite) {
  for (const size_t count : {size_t{1}, size_t{33}, size_t{70001}}) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
      for (const size_t place : {size_t{0}, count / 2, count - 1}) {
        std::vector<float> x = random_array(count);
        x[place] = bad;
        EXPECT_FALSE(std::isfinite(cpu::sum_of_squares(x.data(), count)));
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
