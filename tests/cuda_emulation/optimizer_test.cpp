// The GPU's optimizer step against the CPU's, which tests/kernels/optimizer_test.cpp compares with fp64
// formulas.
#include "kernels/cuda/optimizer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/random.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/cuda_emulation/device_array.h"

namespace brightnet::testing {
namespace {

/// Ranges with gaps before, between and after them; borders inside and on 16-byte groups.
const std::vector<ParameterRange> ranges{{3, 20, 1.0f, 0.0f},
                                         {21, 22, 1.0f, 0.01f},
                                         {22, 23, 0.3f, 0.0f},
                                         {100, 8000, 0.5f, 0.002f},
                                         {8000, 13002, 0.2f, 0.0f}};
constexpr size_t parameters = 13003;

std::vector<float> random_floats(size_t count, uint64_t seed, float scale) {
  Random random(seed, Purpose::test);
  std::vector<float> values(count);
  for (float& value : values) value = scale * random.normal();
  return values;
}

/// The arrays of a step, of which both devices get a copy.
struct Arrays {
  std::vector<float> values = random_floats(parameters, 1, 1), gradients = random_floats(parameters, 2, 10),
                     first = random_floats(parameters, 3, 0.1f), second = random_floats(parameters, 4, 0.1f),
                     ema = random_floats(parameters, 5, 1);
  Arrays() {
    for (float& value : second) value = std::fabs(value);
  }
  OptimizerArrays cpu(bool average) {
    return {parameters,   values.data(), gradients.data(),
            first.data(), second.data(), average ? ema.data() : nullptr};
  }
};

struct DeviceArrays {
  DeviceArray<float> values, gradients, first, second, ema;
  explicit DeviceArrays(const Arrays& host)
      : values(host.values),
        gradients(host.gradients),
        first(host.first),
        second(host.second),
        ema(host.ema) {}
  OptimizerArrays gpu(bool average) const {
    return {parameters, values, gradients, first, second, average ? ema.data() : nullptr};
  }
};

void expect_close(const std::vector<float>& gpu, const std::vector<float>& cpu, const char* what) {
  ASSERT_EQ(gpu.size(), cpu.size());
  for (size_t i = 0; i < cpu.size(); ++i)
    ASSERT_NEAR(gpu[i], cpu[i], 1e-6f + 1e-5f * std::fabs(cpu[i])) << what << ' ' << i;
}

void expect_close(const DeviceArrays& gpu, const Arrays& cpu) {
  expect_close(gpu.values.get(), cpu.values, "value");
  expect_close(gpu.first.get(), cpu.first, "first moment");
  expect_close(gpu.second.get(), cpu.second, "second moment");
  expect_close(gpu.ema.get(), cpu.ema, "average");
}

StepState applied_state() {
  StepState state;
  state.apply = 1;
  state.rate = 0.1f;
  state.gradient_factor = 0.125f;
  state.ema_decay = 0.9f;
  state.first_correction = 10;
  state.second_correction = 1000;
  return state;
}

TEST(GpuOptimizer, StepsAsTheCpuDoes) {
  CpuBackend cpu;
  const cuda::Stream stream;
  const StepState state = applied_state();
  const DeviceArray<StepState> device_state(std::vector<StepState>{state});
  const DeviceArray<ParameterRange> device_ranges(ranges);
  const std::span<const ParameterRange> on_device{device_ranges.data(), ranges.size()};
  for (const bool average : {false, true}) {
    for (const SgdStep& sgd : {SgdStep{}, SgdStep{.nesterov = true}, SgdStep{.decoupled = true}}) {
      Arrays host;
      const DeviceArrays device(host);
      for (int step = 0; step < 3; ++step) {
        cpu.sgd_step(sgd, host.cpu(average), ranges, &state);
        cuda::sgd_step(sgd, device.gpu(average), on_device, device_state, stream);
      }
      expect_close(device, host);
    }
    Arrays host;
    const DeviceArrays device(host);
    for (int step = 0; step < 3; ++step) {
      cpu.adamw_step({}, host.cpu(average), ranges, &state);
      cuda::adamw_step({}, device.gpu(average), on_device, device_state, stream);
    }
    expect_close(device, host);
  }
}

TEST(GpuOptimizer, TouchesNothingInASkippedStep) {
  const cuda::Stream stream;
  Arrays host;
  host.gradients[5] = NAN;
  const DeviceArrays device(host);
  const DeviceArray<StepState> state(std::vector<StepState>{StepState{}});
  const DeviceArray<ParameterRange> device_ranges(ranges);
  const std::span<const ParameterRange> on_device{device_ranges.data(), ranges.size()};
  cuda::sgd_step({}, device.gpu(true), on_device, state, stream);
  cuda::adamw_step({}, device.gpu(true), on_device, state, stream);
  EXPECT_EQ(device.values.get(), host.values);
  EXPECT_EQ(device.first.get(), host.first);
  EXPECT_EQ(device.second.get(), host.second);
  EXPECT_EQ(device.ema.get(), host.ema);
}

TEST(GpuOptimizer, SettlesStatisticsAsTheCpuDoes) {
  CpuBackend cpu;
  const cuda::Stream stream;
  for (const bool apply : {true, false}) {
    for (const bool average : {true, false}) {
      Arrays host;
      const DeviceArrays device(host);
      StepState state = applied_state();
      state.apply = apply;
      const DeviceArray<StepState> device_state(std::vector<StepState>{state});
      cpu.settle_statistics(host.values.data(), host.first.data(), average ? host.ema.data() : nullptr,
                            parameters, &state);
      cuda::settle_statistics(device.values, device.first, average ? device.ema.data() : nullptr, parameters,
                              device_state, stream);
      expect_close(device, host);
    }
  }
}

/// Judges the same gradient on both devices.
void expect_same_judgement(const std::vector<float>& gradients, const std::vector<float>& statistics) {
  const StepPolicy policy{.clip = 3,
                          .scales_loss = true,
                          .growth_interval = 3,
                          .images = 4,
                          .beta1 = 0.9f,
                          .beta2 = 0.999f,
                          .ema_decay = 0.99f,
                          .ema_ramp = 10};
  StepState cpu_state;
  cpu_state.loss_scale = 64;
  cpu_state.good_steps = 1;
  cpu_state.applied = 7;
  cpu_state.pending = {1, 2, 3, 4, 5, 0};
  const DeviceArray<StepState> state(std::vector<StepState>{cpu_state});
  const DeviceArray<float> device_gradients(gradients), device_statistics(statistics);
  const DeviceArray<std::byte> workspace(step_workspace_bytes);
  const cuda::Stream stream;
  CpuBackend cpu;
  for (int step = 0; step < 3; ++step) {
    cpu.judge_step(policy, {gradients.data(), gradients.size(), statistics.data(), statistics.size()},
                   &cpu_state, nullptr);
    cuda::judge_step(policy, {device_gradients, gradients.size(), device_statistics, statistics.size()},
                     state, workspace, stream);
    const StepState gpu = state.get()[0];
    EXPECT_EQ(gpu.apply, cpu_state.apply);
    EXPECT_EQ(gpu.loss_scale, cpu_state.loss_scale);
    EXPECT_EQ(gpu.good_steps, cpu_state.good_steps);
    EXPECT_EQ(gpu.skips_in_a_row, cpu_state.skips_in_a_row);
    EXPECT_EQ(gpu.applied, cpu_state.applied);
    EXPECT_EQ(gpu.skipped, cpu_state.skipped);
    EXPECT_EQ(gpu.sums.classes, cpu_state.sums.classes);
    EXPECT_EQ(gpu.sums.images, cpu_state.sums.images);
    if (!cpu_state.apply) continue;
    EXPECT_NEAR(gpu.norm, cpu_state.norm, 1e-12 * cpu_state.norm);
    EXPECT_FLOAT_EQ(gpu.gradient_factor, cpu_state.gradient_factor);
    EXPECT_FLOAT_EQ(gpu.ema_decay, cpu_state.ema_decay);
    EXPECT_FLOAT_EQ(gpu.first_correction, cpu_state.first_correction);
  }
}

TEST(GpuJudgeStep, DecidesAsTheCpuDoes) {
  for (const size_t count : {size_t{1}, size_t{3}, size_t{4}, size_t{257}, size_t{4099}, size_t{70001}}) {
    for (const size_t statistics : {size_t{0}, size_t{5}, size_t{3000}}) {
      SCOPED_TRACE(std::to_string(count) + " gradients, " + std::to_string(statistics) + " statistics");
      expect_same_judgement(random_floats(count, 6, 100), random_floats(statistics, 7, 1));
    }
  }
}

TEST(GpuJudgeStep, FindsAnyElementThatIsNotFinite) {
  for (const size_t count : {size_t{1}, size_t{4103}}) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const size_t place : {size_t{0}, count / 2, count - 1}) {
        std::vector<float> gradients = random_floats(count, 8, 1), statistics = random_floats(10, 9, 1);
        gradients[place] = bad;
        expect_same_judgement(gradients, statistics);
        gradients[place] = 1;
        statistics[9] = bad;
        expect_same_judgement(gradients, statistics);
      }
    }
  }
}

TEST(GpuJudgeStep, DoesNotOverflowForFiniteNumbers) {
  expect_same_judgement(std::vector<float>(5000, 3e38f), std::vector<float>(5, 3e38f));
}

}  // namespace
}  // namespace brightnet::testing
