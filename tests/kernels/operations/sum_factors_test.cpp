// The factors of weighted sums against their formulas in fp64, and their gradients against differences.
#include "core/enum_names.h"
#include "kernels/weighted_sum.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

/// Parameters that keep away from 0, where relu has no derivative, with one negative and one largest.
std::vector<double> parameters_of(const SumWeights& sum) {
  std::vector<double> values(static_cast<size_t>(sum.inputs * sum.row()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.3 + 0.17 * static_cast<double>((7 * i) % 11);
  values[1 % values.size()] = -0.4;
  return values;
}

/// [inputs][channels], by the formulas of kernels/weighted_sum.h.
std::vector<double> expected_factors(const SumWeights& sum, const std::vector<double>& parameters) {
  std::vector<double> factors;
  const auto weight = [&](int i, int c) {
    return parameters[static_cast<size_t>(i * sum.row() + (sum.row() == 1 ? 0 : c))];
  };
  for (int i = 0; i < sum.inputs; ++i) {
    for (int c = 0; c < sum.channels; ++c) {
      double largest = weight(0, c);
      for (int j = 0; j < sum.inputs; ++j) largest = std::max(largest, weight(j, c));
      const auto numerator = [&](int j) {
        if (sum.normalization == SumNormalization::none) return weight(j, c);
        return sum.normalization == SumNormalization::relu ? std::max(weight(j, c), 0.0)
                                                           : std::exp(weight(j, c) - largest);
      };
      double total = 1e-4;
      for (int j = 0; j < sum.inputs; ++j) total += numerator(j);
      factors.push_back(sum.normalization == SumNormalization::none ? weight(i, c) : numerator(i) / total);
    }
  }
  return factors;
}

template <typename Use>
void for_each_kind(Use&& use) {
  for (const SumWeighting weighting : enum_values<SumWeighting>()) {
    for (const SumNormalization normalization : enum_values<SumNormalization>()) {
      for (const int channels : {1, 5, 300}) use(SumWeights{3, channels, weighting, normalization});
    }
  }
}

OwnedTensor line(const std::vector<double>& values) {
  OwnedTensor tensor({1, 1, 1, static_cast<int>(values.size())});
  tensor.set(values);
  return tensor;
}

TEST(SumFactors, FollowTheNormalization) {
  for_each_kind([](const SumWeights& sum) {
    const std::vector<double> values = parameters_of(sum);
    OwnedTensor parameters = line(values), factors({1, 1, sum.inputs, sum.channels});
    device().sum_factors(sum, parameters.floats(), factors.floats());
    expect_near(factors, expected_factors(sum, values), 2e-6, 1e-7);
  });
}

TEST(SumFactors, TheirGradientMatchesDifferences) {
  for_each_kind([](const SumWeights& sum) {
    std::vector<double> values = parameters_of(sum);
    OwnedTensor parameters = line(values), of_factors({1, 1, sum.inputs, sum.channels}),
                gradient = line(values);
    of_factors.randomize(6);
    const std::vector<double> before = gradient.values();
    const auto loss = [&] {
      const std::vector<double> factors = expected_factors(sum, values);
      double total = 0;
      for (size_t i = 0; i < factors.size(); ++i) total += factors[i] * of_factors[i];
      return total;
    };
    std::vector<double> expected(values.size());
    constexpr double step = 1e-6;
    for (size_t i = 0; i < values.size(); ++i) {
      const double here = values[i];
      values[i] = here + step;
      expected[i] = loss();
      values[i] = here - step;
      expected[i] = (expected[i] - loss()) / (2 * step);
      values[i] = here;
    }
    for (const bool accumulate : {true, false}) {
      std::vector<double> wanted = expected;
      for (size_t i = 0; i < wanted.size() && accumulate; ++i) wanted[i] += before[i];
      device().sum_factors_backward(sum, parameters.floats(), of_factors.floats(), gradient.floats(),
                                    accumulate);
      expect_near(gradient, wanted, 1e-4, 2e-5);
    }
  });
}

}  // namespace
}  // namespace brightnet::testing
