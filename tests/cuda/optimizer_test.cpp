// The GPU's optimizer step against the CPU's, which tests/kernels/optimizer_test.cpp compares
// with fp64 formulas; and with gradients in 16 bits against the same in fp32.
#include <cmath>

#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/device.h"
#include "tests/kernels/every_rule.h"

namespace brightnet::testing {
namespace {

/// Ranges with gaps before, between and after them; borders inside and on 16-byte groups.
const std::vector<ParameterRange> ranges{{3, 20, 1.0f, 0.0f},
                                         {21, 22, 1.0f, 0.01f},
                                         {22, 23, 0.3f, 0.0f},
                                         {100, 8000, 0.5f, 0.002f, true},
                                         {8000, 13002, 0.2f, 0.0f}};
constexpr size_t parameters = 13003;

/// The arrays of a step, of which both devices get a copy.
struct Arrays {
  std::vector<float> values = random_values(parameters, 1), gradients = random_values(parameters, 2, 10),
                     first = random_values(parameters, 3, 0.1f), second = random_values(parameters, 4, 0.1f),
                     ema = random_values(parameters, 5);
  Arrays() {
    for (float& value : second) value = std::fabs(value);
  }
  OptimizerArrays arrays(bool average) {
    return {parameters,   values.data(), gradients.data(),
            first.data(), second.data(), average ? ema.data() : nullptr};
  }
};

struct OwnedArrays {
  OwnedArray<float> values, gradients, first, second, ema;
  explicit OwnedArrays(const Arrays& host)
      : values(host.values),
        gradients(host.gradients),
        first(host.first),
        second(host.second),
        ema(host.ema) {}
  OptimizerArrays arrays(bool average) const {
    return {parameters, values, gradients, first, second, average ? ema.data() : nullptr};
  }
};

void expect_close(const std::vector<float>& gpu, const std::vector<float>& cpu, const char* what) {
  ASSERT_EQ(gpu.size(), cpu.size());
  for (size_t i = 0; i < cpu.size(); ++i)
    ASSERT_NEAR(gpu[i], cpu[i], 1e-6f + 1e-5f * std::fabs(cpu[i])) << what << ' ' << i;
}

void expect_close(const OwnedArrays& gpu, const Arrays& cpu) {
  expect_close(gpu.values.get(), cpu.values, "value");
  expect_close(gpu.first.get(), cpu.first, "first moment");
  expect_close(gpu.second.get(), cpu.second, "second moment");
  expect_close(gpu.ema.get(), cpu.ema, "average");
}

StepState applied_state() {
  StepState state;
  state.apply = 1;
  state.rate = 0.1f;
  state.pretrained_share = 0.25f;
  state.gradient_factor = 0.125f;
  state.ema_decay = 0.9f;
  state.first_correction = 10;
  state.second_correction = 1000;
  return state;
}

TEST(CudaOptimizer, StepsAsTheCpuDoes) {
  cpu::CpuBackend cpu;
  const StepState state = applied_state();
  const OwnedArray<StepState> device_state(std::vector<StepState>{state});
  const OwnedArray<ParameterRange> device_ranges(ranges);
  const std::span<const ParameterRange> on_device{device_ranges.data(), ranges.size()};
  for (const bool average : {false, true}) {
    for (const OptimizerRule& rule : every_rule()) {
      SCOPED_TRACE(name_of(rule));
      Arrays host;
      const OwnedArrays gpu(host);
      for (int step = 0; step < 3; ++step) {
        cpu.optimizer_step(rule, host.arrays(average), ranges, &state);
        device().optimizer_step(rule, gpu.arrays(average), on_device, device_state);
      }
      expect_close(gpu, host);
    }
  }
}

TEST(CudaOptimizer, TouchesNothingInASkippedStep) {
  Arrays host;
  host.gradients[5] = NAN;
  const OwnedArrays gpu(host);
  const OwnedArray<StepState> state(std::vector<StepState>{StepState{}});
  const OwnedArray<ParameterRange> device_ranges(ranges);
  const std::span<const ParameterRange> on_device{device_ranges.data(), ranges.size()};
  for (const OptimizerRule& rule : every_rule())
    device().optimizer_step(rule, gpu.arrays(true), on_device, state);
  EXPECT_EQ(gpu.values.get(), host.values);
  EXPECT_EQ(gpu.first.get(), host.first);
  EXPECT_EQ(gpu.second.get(), host.second);
  EXPECT_EQ(gpu.ema.get(), host.ema);
}

TEST(CudaOptimizer, CommitsStatisticsAsTheCpuDoes) {
  cpu::CpuBackend cpu;
  for (const bool apply : {true, false}) {
    for (const bool average : {true, false}) {
      Arrays host;
      const OwnedArrays gpu(host);
      StepState state = applied_state();
      state.apply = apply;
      const OwnedArray<StepState> device_state(std::vector<StepState>{state});
      cpu.commit_statistics(host.values.data(), host.first.data(), average ? host.ema.data() : nullptr,
                            parameters, &state);
      device().commit_statistics(gpu.values, gpu.first, average ? gpu.ema.data() : nullptr, parameters,
                                 device_state);
      expect_close(gpu, host);
    }
  }
}

// Only what they name is recorded: rate and gradients are those of the replay.
TEST(CudaOptimizer, ReplayedFromARecordingStepsTheSameToTheBit) {
  const OwnedArray<ParameterRange> device_ranges(ranges);
  const std::span<const ParameterRange> on_device{device_ranges.data(), ranges.size()};
  const StepPolicy policy{
      .clip = 3, .scales_loss = true, .images = 4, .beta1 = 0.9f, .beta2 = 0.999f, .ema_decay = 0.99f};
  const Arrays host;
  const OwnedArrays replayed(host), queued(host);
  const OwnedArray<StepState> replayed_state(std::vector<StepState>{StepState{}}),
      queued_state(std::vector<StepState>{StepState{}});
  const OwnedArray<std::byte> workspace(step_workspace_bytes);
  const auto queue = [&](const OwnedArrays& arrays, StepState* state) {
    device().check_step(policy, {arrays.gradients, parameters, nullptr, 0}, state, workspace);
    device().optimizer_step(Sgd{}, arrays.arrays(false), on_device, state);
    device().optimizer_step(AdamW{}, arrays.arrays(true), on_device, state);
  };
  const auto recording = device().record([&] { queue(replayed, replayed_state); });
  ASSERT_NE(recording, nullptr);
  EXPECT_EQ(replayed.values.get(), host.values) << "recording does nothing yet";
  for (uint64_t step = 0; step < 3; ++step) {
    const std::vector<float> gradients = random_values(parameters, 20 + step, 10);
    const float rate = 0.1f / static_cast<float>(1 + step);
    for (const OwnedArrays* arrays : {&replayed, &queued}) arrays->gradients.set(gradients);
    for (const OwnedArray<StepState>* state : {&replayed_state, &queued_state})
      device().upload(&state->data()->rate, &rate, sizeof rate);
    recording->replay();
    queue(queued, queued_state);
    const StepState of_replay = replayed_state.get()[0], of_queue = queued_state.get()[0];
    EXPECT_EQ(of_replay.applied, static_cast<int64_t>(step) + 1);
    EXPECT_EQ(of_replay.norm, of_queue.norm);
    EXPECT_EQ(replayed.values.get(), queued.values.get());
    EXPECT_EQ(replayed.first.get(), queued.first.get());
    EXPECT_EQ(replayed.second.get(), queued.second.get());
    EXPECT_EQ(replayed.ema.get(), queued.ema.get());
  }
  EXPECT_NE(replayed.values.get(), host.values);
}

/// Checks the same gradient on both devices.
void expect_same_decision(const std::vector<float>& gradients, const std::vector<float>& statistics) {
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
  const OwnedArray<StepState> state(std::vector<StepState>{cpu_state});
  const OwnedArray<float> device_gradients(gradients), device_statistics(statistics);
  const OwnedArray<std::byte> workspace(step_workspace_bytes);
  cpu::CpuBackend cpu;
  for (int step = 0; step < 3; ++step) {
    cpu.check_step(policy, {gradients.data(), gradients.size(), statistics.data(), statistics.size()},
                   &cpu_state, nullptr);
    device().check_step(policy, {device_gradients, gradients.size(), device_statistics, statistics.size()},
                        state, workspace);
    const StepState gpu = state.get()[0];
    EXPECT_EQ(gpu.apply, cpu_state.apply);
    EXPECT_EQ(gpu.loss_scale, cpu_state.loss_scale);
    EXPECT_EQ(gpu.good_steps, cpu_state.good_steps);
    EXPECT_EQ(gpu.skips_in_a_row, cpu_state.skips_in_a_row);
    EXPECT_EQ(gpu.applied, cpu_state.applied);
    EXPECT_EQ(gpu.skipped, cpu_state.skipped);
    EXPECT_EQ(gpu.sums.classes, cpu_state.sums.classes);
    EXPECT_EQ(gpu.sums.images, cpu_state.sums.images);
    EXPECT_EQ(gpu.sums.steps, cpu_state.sums.steps);
    EXPECT_EQ(gpu.sums.clipped, cpu_state.sums.clipped);
    EXPECT_NEAR(gpu.sums.norm, cpu_state.sums.norm, 1e-12 * cpu_state.sums.norm);
    if (!cpu_state.apply) continue;
    EXPECT_NEAR(gpu.norm, cpu_state.norm, 1e-12 * cpu_state.norm);
    EXPECT_FLOAT_EQ(gpu.gradient_factor, cpu_state.gradient_factor);
    EXPECT_FLOAT_EQ(gpu.ema_decay, cpu_state.ema_decay);
    EXPECT_FLOAT_EQ(gpu.first_correction, cpu_state.first_correction);
  }
}

TEST(CudaCheckStep, DecidesAsTheCpuDoes) {
  for (const size_t count : {size_t{1}, size_t{3}, size_t{4}, size_t{257}, size_t{4099}, size_t{70001}}) {
    for (const size_t statistics : {size_t{0}, size_t{5}, size_t{3000}}) {
      SCOPED_TRACE(std::to_string(count) + " gradients, " + std::to_string(statistics) + " statistics");
      expect_same_decision(random_values(count, 6, 100), random_values(statistics, 7, 1));
    }
  }
}

TEST(CudaCheckStep, FindsAnyElementThatIsNotFinite) {
  for (const size_t count : {size_t{1}, size_t{4103}}) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const size_t place : {size_t{0}, count / 2, count - 1}) {
        std::vector<float> gradients = random_values(count, 8, 1), statistics = random_values(10, 9, 1);
        gradients[place] = bad;
        expect_same_decision(gradients, statistics);
        gradients[place] = 1;
        statistics[9] = bad;
        expect_same_decision(gradients, statistics);
      }
    }
  }
}

TEST(CudaCheckStep, DoesNotOverflowForFiniteNumbers) {
  expect_same_decision(std::vector<float>(5000, 3e38f), std::vector<float>(5, 3e38f));
}

}  // namespace
}  // namespace brightnet::testing
