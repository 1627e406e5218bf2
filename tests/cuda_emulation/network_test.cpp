// Whole networks on the emulated GPU against the CPU: every kernel of kernels/cuda in the places where
// networks use it.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/cuda_emulation/emulated_device.h"
#include "tests/cuda_emulation/launch.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

// One cross-stage partial stage of yolov4 with its pyramid and a lateral connection, narrow.
constexpr const char* block_of_yolov4 = R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]], scale_xy: 1.05, iou_threshold: 0.213, max_delta: 5}
blocks:
  residual:
    parameters: [hidden, filters]
    layers:
      - conv: {filters: $hidden, size: 1}
      - conv: {name: b, filters: $filters, size: 3}
      - shortcut: {from: [b, input]}
layers:
  - conv: {name: stem, filters: 8, size: 3}
  - conv: {name: down, filters: 16, size: 3, stride: 2}
  - conv: {name: bypass, filters: 16, size: 1}
  - conv: {from: down, filters: 16, size: 1}
  - residual: {name: body, hidden: 8, filters: 16, repeat: 2}
  - conv: {name: out, filters: 16, size: 1}
  - concat: {from: [out, bypass]}
  - conv: {name: merge, filters: 16, size: 1}
  - conv: {name: deep, filters: 24, size: 3, stride: 2, activation: leaky}
  - spp: {windows: [13, 9, 5]}
  - conv: {filters: 16, size: 1, activation: leaky}
  - upsample: {name: up, factor: 2}
  - concat: {from: [up, merge]}
  - conv: {filters: 16, size: 1, activation: leaky}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

constexpr const char* small_network = R"(
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 8, size: 3, stride: 2, activation: leaky}
  - conv: {name: a, filters: 16, size: 3, activation: mish}
  - split: {groups: 2, part: 1}
  - conv: {name: b, filters: 8, size: 3, activation: swish}
  - concat: {from: [b, a]}
  - max_pool: {size: 2, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// Cosine of the angle between two gradients, and the ratio of their lengths.
struct Comparison {
  double cosine, ratio;
};
Comparison compare(const std::vector<float>& actual, const std::vector<float>& expected) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    dot += static_cast<double>(actual[i]) * expected[i];
    aa += static_cast<double>(actual[i]) * actual[i];
    bb += static_cast<double>(expected[i]) * expected[i];
  }
  return {dot / std::sqrt(aa * bb), std::sqrt(aa / bb)};
}

struct Tolerance {
  Precision precision;
  double loss, one_minus_cosine, length;
};

/// Forward and backward of one model in one precision on the emulated GPU against fp32 on the CPU.
void expect_agreement(const Model& model, const InputSize& size, const Tolerance& tolerance) {
  SCOPED_TRACE(std::string(enum_name(tolerance.precision)));
  const auto cpu = make_cpu_backend(), gpu = make_emulated_backend();
  BoundNetwork expected(*cpu, model, 2, size, Precision::fp32, Mode::train);
  BoundNetwork actual(*gpu, model, 2, size, tolerance.precision, Mode::train);
  // Not seed 1, where a prediction is so near a threshold of the loss that fp16 falls on the other side.
  give_input(expected, 2);
  give_input(actual, 2);
  constexpr float scale = 256;  // gradients of a half-precision network lie near its smallest numbers
  const double loss = expected.loss(scale);
  EXPECT_NEAR(actual.loss(scale) / loss, 1, tolerance.loss);
  const Comparison gradients = compare(actual.gradients(), expected.gradients());
  EXPECT_NEAR(gradients.cosine, 1, tolerance.one_minus_cosine);
  EXPECT_NEAR(gradients.ratio, 1, tolerance.length);
}

constexpr Tolerance fp32{Precision::fp32, 1e-5, 1e-6, 1e-4};

TEST(EmulatedNetwork, TinyAgreesWithTheCpu) {
  const Model model = shipped_model("yolov4-tiny", 3);
  expect_agreement(model, 64, fp32);
  expect_agreement(model, 64, {Precision::fp16, 0.01, 0.02, 0.05});
  expect_agreement(model, 64, {Precision::bf16, 0.05, 0.2, 0.15});
}

TEST(EmulatedNetwork, ABlockOfYolov4AgreesWithTheCpu) {
  const Model model = model_of(block_of_yolov4, 3);
  expect_agreement(model, 32, fp32);
  expect_agreement(model, 32, {Precision::fp16, 0.001, 0.001, 0.002});
  expect_agreement(model, 32, {Precision::bf16, 0.005, 0.01, 0.03});
}

TEST(EmulatedNetwork, ARectangularGreyInputAgreesWithTheCpu) {
  const std::string yaml = std::string("input: {size: [32, 64], channels: 1}") + groups_factors_and_sums;
  const Model model = model_of(yaml, 3);
  expect_agreement(model, {32, 64}, fp32);
  expect_agreement(model, {32, 64}, {Precision::fp16, 0.001, 0.001, 0.002});
  expect_agreement(model, {32, 64}, {Precision::bf16, 0.005, 0.01, 0.03});
}

TEST(EmulatedNetwork, InferenceAgreesWithTheCpu) {
  const Model model = model_of(block_of_yolov4, 3);
  const auto cpu = make_cpu_backend(), gpu = make_emulated_backend();
  BoundNetwork expected(*cpu, model, 1, 32, Precision::fp32, Mode::infer);
  BoundNetwork actual(*gpu, model, 1, 32, Precision::fp32, Mode::infer);
  give_input(expected, 2);
  give_input(actual, 2);
  expected.network().infer();
  actual.network().infer();
  const int head = expected.network().layer_count() - 1;
  const Tensor a = expected.network().output(head), b = actual.network().output(head);
  std::vector<float> host(b.count());
  gpu->download(host.data(), b.data, b.bytes());
  const Comparison outputs = compare(host, {a.as<float>(), a.as<float>() + a.count()});
  EXPECT_NEAR(outputs.cosine, 1, 1e-8);
  EXPECT_NEAR(outputs.ratio, 1, 1e-5);
}

/// A range for each parameter, as an optimizer's step has them.
std::vector<ParameterRange> ranges_of(BoundNetwork& bound) {
  std::vector<ParameterRange> ranges;
  const auto& entries = bound.layout().entries();
  for (size_t i = 0; i < entries.size() && entries[i].offset < bound.layout().trainable_floats(); ++i) {
    const size_t end = i + 1 < entries.size() ? entries[i + 1].offset : bound.layout().trainable_floats();
    if (entries[i].rate > 0) ranges.push_back({entries[i].offset, end, 1, 5e-4f});
  }
  return ranges;
}

/// A network in training: forward, backward, and a step of SGD that the device checks.
class Training {
 public:
  Training(Backend& backend, Precision precision)
      : backend_(backend),
        bound_(backend, model_of(small_network, 3), 2, 32, precision, Mode::train),
        momentum_(backend, bound_.layout().trainable_floats() * sizeof(float)),
        ranges_(backend, ranges_of(bound_).size() * sizeof(ParameterRange)),
        state_(backend, sizeof(StepState)),
        workspace_(backend, step_workspace_bytes) {
    backend.zero(momentum_.data(), momentum_.bytes());
    const std::vector<ParameterRange> ranges = ranges_of(bound_);
    backend.upload(ranges_.data(), ranges.data(), ranges_.bytes());
    StepState state;
    state.rate = 0.01f;
    state.loss_scale = precision == Precision::fp16 ? 1024.0f : 1.0f;
    backend.upload(state_.data(), &state, sizeof state);
    policy_.scales_loss = precision == Precision::fp16;
    policy_.images = 2;
  }

  void give(uint64_t seed) { give_input(bound_, seed); }
  /// Queues one step on what was given.
  void step() {
    auto* state = static_cast<StepState*>(state_.data());
    Parameters& parameters = bound_.parameters();
    const size_t trainable = bound_.layout().trainable_floats();
    bound_.network().forward();
    bound_.network().backward({0.5f, &state->loss_scale}, false);
    const std::span<const ParameterRange> ranges(static_cast<const ParameterRange*>(ranges_.data()),
                                                 ranges_.bytes() / sizeof(ParameterRange));
    backend_.check_step(policy_, {parameters.gradients, trainable, nullptr, 0}, state, workspace_.data());
    OptimizerArrays arrays;
    arrays.count = trainable;
    arrays.values = parameters.values;
    arrays.gradients = parameters.gradients;
    arrays.first = momentum_.floats();
    backend_.optimizer_step(Sgd{}, arrays, ranges, state);
    ++parameters.version;
  }
  double loss() const {
    double sum = 0;
    for (const YoloLoss& part : bound_.network().losses()) sum += part.box + part.objectness + part.classes;
    return sum;
  }
  StepState state() const {
    StepState state;
    backend_.download(&state, state_.data(), sizeof state);
    return state;
  }
  int64_t applied() const { return state().applied; }
  std::vector<float> values() const { return bound_.values(); }
  BoundNetwork& bound() { return bound_; }

 private:
  Backend& backend_;
  mutable BoundNetwork bound_;
  DeviceBuffer momentum_, ranges_, state_, workspace_;
  StepPolicy policy_;
};

TEST(EmulatedNetwork, TenTrainingStepsGoTheCpusWay) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    const auto cpu = make_cpu_backend(), gpu = make_emulated_backend();
    Training expected(*cpu, Precision::fp32), actual(*gpu, precision);
    for (uint64_t step = 0; step < 10; ++step) {
      expected.give(step);
      actual.give(step);
      expected.step();
      actual.step();
      EXPECT_NEAR(actual.loss() / expected.loss(), 1, precision == Precision::fp32 ? 1e-4 : 0.05)
          << enum_name(precision) << ", step " << step;
    }
    EXPECT_EQ(actual.applied(), 10);
    if (precision == Precision::fp32) {
      const Comparison values = compare(actual.values(), expected.values());
      EXPECT_NEAR(values.cosine, 1, 1e-6);
      EXPECT_NEAR(values.ratio, 1, 1e-5);
    }
  }
}

// In half precision the gradients of many layers' weights are converted and added together.
TEST(EmulatedNetwork, AMicroBatchAddsToGradientsThatAreFinalOnceTheirLayerHasPassed) {
  const auto gpu = make_emulated_backend();
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16}) {
    BoundNetwork bound(*gpu, model_of(small_network, 3), 2, 32, precision, Mode::train);
    give_input(bound, 1);
    bound.loss(256);
    const std::vector<float> once = bound.gradients();
    give_input(bound, 1);
    std::vector<int> all(static_cast<size_t>(bound.network().layer_count()));
    std::iota(all.rbegin(), all.rend(), 0);
    size_t seen = 0;
    const auto look = [&](int layer) {
      const std::vector<float> now = bound.gradients();
      for (const ParameterEntry& entry : bound.layout().entries()) {
        if (entry.layer != layer || entry.offset >= now.size()) continue;
        for (size_t i = entry.offset; i < entry.offset + entry.count; ++i, ++seen)
          ASSERT_EQ(now[i], 2 * once[i]) << entry.name << ' ' << enum_name(precision);
      }
    };
    bound.network().forward_backward({256}, true, nullptr, {[] {}, all, look});
    EXPECT_GT(seen, 2000u);
  }
}

TEST(EmulatedNetwork, StepsAreTheSameInEveryRun) {
  const auto gpu = make_emulated_backend();
  const auto train = [&] {
    Training training(*gpu, Precision::fp16);
    for (uint64_t step = 0; step < 3; ++step) {
      training.give(step);
      training.step();
    }
    return training.values();
  };
  EXPECT_EQ(train(), train()) << "although the threads of the second run came in another order";
}

// A process may have detectors on several GPUs, and a thread may use one that another thread has made: its current GPU is
// any then, and CUDA refuses kernels in a stream of another.
TEST(EmulatedNetwork, WorksOnItsOwnGpuWhateverTheThreadsCurrentOneIs) {
  const auto choose = [](int gpu) { cuda::check(cudaSetDevice(gpu), "choose a GPU"); };
  const auto first = make_emulated_backend();
  choose(1);
  const auto second = make_emulated_backend();
  std::vector<std::vector<float>> gradients;
  for (Backend* gpu : {first.get(), second.get()}) {
    for (const int current : {0, 1}) {
      choose(current);
      BoundNetwork bound(*gpu, model_of(small_network, 3), 2, 32, Precision::fp16, Mode::train);
      bound.network().allow_recording(true);
      for (uint64_t step = 0; step < 3; ++step) {
        choose(current);
        give_input(bound, step);
        bound.network().forward_backward({256}, false, nullptr);
        choose(1 - current);
        gpu->finish_uploads();
      }
      gradients.push_back(bound.gradients());
      choose(current);
    }
  }
  choose(0);
  for (const auto& of_network : gradients) EXPECT_EQ(of_network, gradients.front());
}

// The host of the library may compute on another.
TEST(EmulatedNetwork, TheThreadsOwnGpuCanBeGivenBack) {
  const auto gpu = make_emulated_backend();
  cuda::check(cudaSetDevice(1), "choose a GPU");
  void* const own = cuda::current_context();
  gpu->synchronize();
  EXPECT_EQ(cuda::current_gpu(), 0);
  cuda::choose_context(nullptr);
  EXPECT_EQ(cuda::current_gpu(), 0);
  cuda::choose_context(own);
  EXPECT_EQ(cuda::current_gpu(), 1);
  cuda::check(cudaSetDevice(0), "choose a GPU");
}

TEST(EmulatedNetwork, NoLaunchOfAStepDependsOnTheOrderOfItsThreads) {
  const auto gpu = make_emulated_backend();
  const emulation::EveryOrder every_order;
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    Training training(*gpu, precision);
    training.give(1);
    training.step();
    EXPECT_EQ(training.applied(), 1);
    BoundNetwork block(*gpu, model_of(block_of_yolov4, 3), 1, 32, precision, Mode::train);
    give_input(block, 1);
    EXPECT_GT(block.loss(), 0);
  }
}

}  // namespace
}  // namespace brightnet::testing
