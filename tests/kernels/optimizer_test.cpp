#include "kernels/optimizer.h"

#include <cmath>
#include <limits>

#include "core/threads.h"
#include "kernels/math/loss_scaler.h"
#include "tests/kernels/every_rule.h"
#include "tests/kernels/on_cpu.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

/// Five flat arrays, random, in fp32 for the step and in double for the reference.
struct State {
  std::vector<float> values, gradients, first, second, ema;

  explicit State(size_t count) : values(count), gradients(count), first(count), second(count), ema(count) {
    Random random(31, Purpose::test);
    for (size_t i = 0; i < count; ++i) {
      values[i] = random.normal();
      first[i] = 0.1f * random.normal();
      second[i] = 0.01f * random.uniform();
      ema[i] = random.normal();
    }
  }
  void draw_gradients(uint64_t step) {
    Random random(32, Purpose::test, step);
    for (float& gradient : gradients) gradient = 10 * random.normal();
  }
  OptimizerArrays arrays() {
    return {values.size(), values.data(), gradients.data(), first.data(), second.data(), ema.data()};
  }
};

struct Reference {
  std::vector<double> values, first, second, ema;
  explicit Reference(const State& state)
      : values(state.values.begin(), state.values.end()),
        first(state.first.begin(), state.first.end()),
        second(state.second.begin(), state.second.end()),
        ema(state.ema.begin(), state.ema.end()) {}
};

void expect_close(const std::vector<float>& actual, const std::vector<double>& expected, const char* what) {
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 2e-6 * std::abs(expected[i]) + 2e-6) << what << ' ' << i;
  }
}

/// Ranges with gaps before, between and after them, of one element and of many.
const std::vector<ParameterRange> ranges{
    {3, 20, 1.0f, 0.0f}, {21, 22, 1.0f, 0.01f}, {100, 39999, 0.5f, 0.002f, true}, {40000, 65000, 0.2f, 0.0f}};
constexpr size_t parameters = 65003;
constexpr float pretrained_share = 0.25f;

/// Of a step with a rate of 0.1.
double rate_of(const ParameterRange& range) {
  return 0.1f * range.rate * (range.pretrained ? pretrained_share : 1);
}

/// The state of step `number` of a run, as kernels/math/loss_scaler.h leaves it.
StepState applied(float rate = 0.1f, float gradient_factor = 0.125f, float ema_decay = 0.9f,
                  int64_t number = 1) {
  StepState state;
  state.apply = 1;
  state.rate = rate;
  state.pretrained_share = pretrained_share;
  state.gradient_factor = gradient_factor;
  state.ema_decay = ema_decay;
  state.first_correction = bias_correction(AdamW{}.beta1, number);
  state.second_correction = bias_correction(AdamW{}.beta2, number);
  return state;
}

void optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                    std::span<const ParameterRange> of, const StepState& state) {
  on_cpu().optimizer_step(rule, arrays, of, &state);
}
void commit_statistics(float* values, float* kept, float* ema, size_t count, const StepState& state) {
  on_cpu().commit_statistics(values, kept, ema, count, &state);
}

TEST(Sgd, FollowsTheFp64FormulaOverSeveralSteps) {
  for (const bool nesterov : {false, true}) {
    State state(parameters);
    Reference expected(state);
    const double momentum = 0.9f, keep = applied().ema_decay;
    for (int step = 1; step <= 5; ++step) {
      state.draw_gradients(static_cast<uint64_t>(step));
      for (const ParameterRange& range : ranges) {
        for (size_t i = range.begin; i < range.end; ++i) {
          double &w = expected.values[i], &v = expected.first[i];
          const double g = 0.125 * state.gradients[i] + range.decay * w;
          v = momentum * v + g;
          w -= rate_of(range) * (nesterov ? g + momentum * v : v);
          expected.ema[i] = keep * expected.ema[i] + (1 - keep) * w;
        }
      }
      optimizer_step(Sgd{.momentum = 0.9f, .nesterov = nesterov}, state.arrays(), ranges, applied());
    }
    expect_close(state.values, expected.values, "value");
    expect_close(state.first, expected.first, "velocity");
    expect_close(state.ema, expected.ema, "average");
  }
}

TEST(AdamW, FollowsTheFp64FormulaOverSeveralSteps) {
  State state(parameters);
  Reference expected(state);
  const AdamW adam;
  const double beta1 = adam.beta1, beta2 = adam.beta2, keep = applied().ema_decay;
  for (int step = 1; step <= 5; ++step) {
    state.draw_gradients(static_cast<uint64_t>(step));
    for (const ParameterRange& range : ranges) {
      for (size_t i = range.begin; i < range.end; ++i) {
        double &w = expected.values[i], &m = expected.first[i], &v = expected.second[i];
        const double g = 0.125 * state.gradients[i];
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        const double m_hat = m / (1 - std::pow(beta1, step)), v_hat = v / (1 - std::pow(beta2, step));
        w -= rate_of(range) * (m_hat / (std::sqrt(v_hat) + adam.epsilon) + range.decay * w);
        expected.ema[i] = keep * expected.ema[i] + (1 - keep) * w;
      }
    }
    optimizer_step(adam, state.arrays(), ranges, applied(0.1f, 0.125f, 0.9f, step));
  }
  expect_close(state.values, expected.values, "value");
  expect_close(state.first, expected.first, "first moment");
  expect_close(state.second, expected.second, "second moment");
  expect_close(state.ema, expected.ema, "average");
}

TEST(OptimizerRules, TouchNothingOutsideTheRanges) {
  State state(parameters), before(parameters);
  state.draw_gradients(1);
  for (const OptimizerRule& rule : every_rule()) optimizer_step(rule, state.arrays(), ranges, applied());
  for (size_t i = 0; i < parameters; ++i) {
    bool inside = false;
    for (const ParameterRange& range : ranges) inside = inside || (i >= range.begin && i < range.end);
    ASSERT_EQ(state.values[i] != before.values[i], inside) << i;
    ASSERT_EQ(state.first[i] != before.first[i], inside) << i;
    ASSERT_EQ(state.second[i] != before.second[i], inside) << i;
    ASSERT_EQ(state.ema[i] != before.ema[i], inside) << i;
  }
}

TEST(Sgd, ConstantGradientReachesTheTerminalVelocity) {
  // v → g / (1 − momentum): after n steps exactly g·(1 − mⁿ)/(1 − m).
  float value = 1, gradient = 1, velocity = 0;
  const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &velocity};
  const ParameterRange range[] = {{0, 1, 1, 0}};
  double travelled = 0;
  for (int step = 1; step <= 40; ++step) {
    optimizer_step(Sgd{.momentum = 0.5f}, arrays, range, applied(0.001f, 1));
    travelled += 0.001 * (1 - std::pow(0.5, step)) / 0.5;
  }
  EXPECT_NEAR(velocity, 2.0, 1e-6);
  EXPECT_NEAR(value, 1 - travelled, 1e-6);
}

TEST(Sgd, DecayIsCoupledAsInDarknet) {
  // Without a gradient: w ← w·(1 − rate·decay), and the pull shows in the momentum.
  float value = 2, gradient = 0, velocity = 0;
  const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &velocity};
  const ParameterRange range[] = {{0, 1, 1, 0.25f}};
  optimizer_step(Sgd{}, arrays, range, applied(0.5f, 1));
  EXPECT_FLOAT_EQ(velocity, 0.5f);
  EXPECT_FLOAT_EQ(value, 2 * (1 - 0.125f));
}

TEST(Sgd, DecoupledDecayStaysOutOfTheMomentum) {
  float value = 2, gradient = 1, velocity = 0;
  const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &velocity};
  const ParameterRange range[] = {{0, 1, 1, 0.25f}};
  optimizer_step(Sgd{.decoupled = true}, arrays, range, applied(0.5f, 1));
  EXPECT_FLOAT_EQ(velocity, 1);
  EXPECT_FLOAT_EQ(value, 2 - 0.5f * 0.25f * 2 - 0.5f);
}

TEST(Sgd, RateZeroKeepsValuesButMovesMomentumAndAverage) {
  float value = 2, gradient = 3, velocity = 1, ema = 0;
  const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &velocity, .ema = &ema};
  const ParameterRange range[] = {{0, 1, 0.0f, 0.0f}};
  optimizer_step(Sgd{.momentum = 0.5f}, arrays, range, applied(1, 1, 0.5f));
  EXPECT_EQ(value, 2.0f);
  EXPECT_EQ(velocity, 3.5f);
  EXPECT_EQ(ema, 1.0f);
}

TEST(AdamW, FirstStepHasTheLengthOfTheRate) {
  // m̂ = g and v̂ = g² after one step from zero: every gradient, large or small, moves by the rate.
  for (const float gradient : {1e-3f, -2.0f, 500.0f}) {
    float value = 1, first = 0, second = 0;
    const OptimizerArrays arrays{
        .values = &value, .gradients = &gradient, .first = &first, .second = &second};
    const ParameterRange range[] = {{0, 1, 1, 0.0f}};
    optimizer_step(AdamW{}, arrays, range, applied(0.01f, 1));
    EXPECT_NEAR(value, 1 - std::copysign(0.01, gradient), 1e-6);
  }
}

TEST(AdamW, DecayIsDecoupled) {
  float value = 2, gradient = 0, first = 0, second = 0;
  const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &first, .second = &second};
  const ParameterRange range[] = {{0, 1, 1, 0.25f}};
  optimizer_step(AdamW{}, arrays, range, applied(0.5f, 1));
  EXPECT_FLOAT_EQ(value, 2 * (1 - 0.125f));
  EXPECT_EQ(first, 0.0f);
  EXPECT_EQ(second, 0.0f);
}

TEST(AdamW, RefusesMissingMoments) {
  float value = 0, gradient = 0, first = 0;
  const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &first};
  const ParameterRange range[] = {{0, 1, 1, 0.0f}};
  EXPECT_THROW(optimizer_step(AdamW{}, arrays, range, applied()), std::logic_error);
}

TEST(Lion, FollowsTheFp64FormulaOverSeveralSteps) {
  State state(parameters);
  Reference expected(state);
  const Lion lion;
  const double beta1 = lion.beta1, beta2 = lion.beta2, keep = applied().ema_decay;
  size_t near_zero = 0;
  for (int step = 1; step <= 5; ++step) {
    state.draw_gradients(static_cast<uint64_t>(step));
    for (const ParameterRange& range : ranges) {
      for (size_t i = range.begin; i < range.end; ++i) {
        double &w = expected.values[i], &m = expected.first[i];
        double g = 0.125 * state.gradients[i];
        if (std::abs(beta1 * m + (1 - beta1) * g) < 1e-5) {
          // Rounding may decide about the sign: it is set by a larger gradient.
          state.gradients[i] = 10;
          g = 1.25;
          ++near_zero;
        }
        const double c = beta1 * m + (1 - beta1) * g;
        w -= rate_of(range) * ((c > 0) - (c < 0) + range.decay * w);
        m = beta2 * m + (1 - beta2) * g;
        expected.ema[i] = keep * expected.ema[i] + (1 - keep) * w;
      }
    }
    optimizer_step(lion, state.arrays(), ranges, applied(0.1f, 0.125f, 0.9f, step));
  }
  EXPECT_LT(near_zero, 50u) << "of " << parameters;
  expect_close(state.values, expected.values, "value");
  expect_close(state.first, expected.first, "moment");
  expect_close(state.ema, expected.ema, "average");
}

TEST(Lion, MovesByTheRateAgainstTheSignAndNotAtAllWithoutAGradient) {
  for (const float gradient : {1e-20f, -2.0f, 5e5f, 0.0f}) {
    float value = 2, moment = 0;
    const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &moment};
    const ParameterRange range[] = {{0, 1, 1, 0.5f}};
    optimizer_step(Lion{}, arrays, range, applied(0.01f, 1));
    const float sign = gradient > 0 ? 1.0f : gradient < 0 ? -1.0f : 0.0f;
    EXPECT_FLOAT_EQ(value, 2 - 0.01f * (sign + 0.5f * 2)) << gradient;
    EXPECT_FLOAT_EQ(moment, (1 - 0.99f) * gradient);
  }
}

// Its decision reads the momentum at beta1 and keeps it at beta2: a gradient of the other sign turns the step at once,
// and the moment later.
TEST(Lion, TheStepAndTheMomentHaveDecaysOfTheirOwn) {
  float value = 0, gradient = -1, moment = 0.1f;
  const OptimizerArrays arrays{.values = &value, .gradients = &gradient, .first = &moment};
  const ParameterRange range[] = {{0, 1, 1, 0.0f}};
  optimizer_step(Lion{}, arrays, range, applied(0.01f, 1));
  EXPECT_FLOAT_EQ(value, 0.01f) << "0.9 · 0.1 − 0.1 · 1 is below 0";
  EXPECT_FLOAT_EQ(moment, 0.099f - 0.01f);
}

TEST(OptimizerRules, TouchNothingInASkippedStep) {
  State state(parameters);
  state.draw_gradients(1);
  state.gradients[5] = std::numeric_limits<float>::quiet_NaN();
  const State before = state;
  StepState skipped = applied();
  skipped.apply = 0;
  for (const OptimizerRule& rule : every_rule()) optimizer_step(rule, state.arrays(), ranges, skipped);
  EXPECT_EQ(state.values, before.values);
  EXPECT_EQ(state.first, before.first);
  EXPECT_EQ(state.second, before.second);
  EXPECT_EQ(state.ema, before.ema);
}

TEST(OptimizerRules, ResultsDoNotDependOnTheNumberOfThreads) {
  const int threads = omp_get_max_threads();
  std::vector<State> states(2, State(parameters));
  for (int i = 0; i < 2; ++i) {
    omp_set_num_threads(i == 0 ? 1 : 3);
    for (int step = 1; step <= 3; ++step) {
      states[i].draw_gradients(static_cast<uint64_t>(step));
      for (const OptimizerRule& rule : every_rule())
        optimizer_step(rule, states[i].arrays(), ranges, applied(0.1f, 0.125f, 0.9f, step));
    }
  }
  omp_set_num_threads(threads);
  EXPECT_EQ(states[0].values, states[1].values);
  EXPECT_EQ(states[0].first, states[1].first);
  EXPECT_EQ(states[0].second, states[1].second);
  EXPECT_EQ(states[0].ema, states[1].ema);
}

TEST(CommitStatistics, KeepsAndAveragesThoseOfAnAppliedStep) {
  State state(40001);
  Reference expected(state);
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < state.ema.size(); ++i) {
      expected.ema[i] = 0.75 * expected.ema[i] + 0.25 * state.values[i];
    }
    commit_statistics(state.values.data(), state.first.data(), state.ema.data(), state.ema.size(),
                      applied(1, 1, 0.75f));
  }
  expect_close(state.ema, expected.ema, "average");
  EXPECT_EQ(state.first, state.values);
}

TEST(CommitStatistics, PutsThoseOfASkippedStepBack) {
  State state(40001);
  state.values[3] = std::numeric_limits<float>::infinity();
  const State before = state;
  commit_statistics(state.values.data(), state.first.data(), state.ema.data(), state.ema.size(), {});
  EXPECT_EQ(state.values, before.first);
  EXPECT_EQ(state.first, before.first);
  EXPECT_EQ(state.ema, before.ema);
}

TEST(CommitStatistics, DecayNearOneStillMoves) {
  // 0.9998·ema + 0.0002·value, a thousand times, closes in by 1 − 0.9998¹⁰⁰⁰.
  float ema = 0, value = 1, kept = 0;
  for (int step = 0; step < 1000; ++step) commit_statistics(&value, &kept, &ema, 1, applied(1, 1, 0.9998f));
  EXPECT_NEAR(ema, 1 - std::pow(0.9998, 1000), 1e-4);
}

}  // namespace
}  // namespace brightnet::testing
