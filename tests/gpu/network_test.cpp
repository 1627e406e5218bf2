// Whole training steps on a GPU against the CPU's, with train/'s optimizer step. The emulated suite has steps
// of its own (tests/cuda_emulation/network_test.cpp): train/ is linked with the real backend.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <future>
#include <span>

#include <gtest/gtest.h>

#include "core/random.h"
#include "kernels/cuda/installation.h"
#include "tests/kernels/device.h"
#include "tests/layers/models.h"
#include "train/config/config.h"
#include "train/optimizer/optimizer_step.h"

namespace brightnet::testing {
namespace {

constexpr int batch = 2;

constexpr const char* small_model = R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: stem, filters: 16, size: 3, stride: 2}
  - conv: {name: a, filters: 16, size: 3, activation: leaky}
  - split: {name: half, groups: 2, part: 1}
  - conv: {name: b, filters: 8, size: 3}
  - concat: {name: joined, from: [b, a]}
  - max_pool: {size: 2, stride: 2}
  - conv: {name: c, filters: 24, size: 1, activation: swish}
  - upsample: {name: up, factor: 2}
  - concat: {name: all, from: [up, joined]}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// Pixels and boxes of one step.
struct MadeUpBatch {
  MadeUpBatch(int size, uint64_t seed) : pixels(3 * static_cast<size_t>(batch) * size * size), truths(batch) {
    Random random(seed, Purpose::test);
    for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
    for (auto& of_image : truths) {
      for (int i = 0; i < 3; ++i) {
        of_image.push_back({{random.uniform(0.2f, 0.8f), random.uniform(0.2f, 0.8f),
                             random.uniform(0.1f, 0.4f), random.uniform(0.1f, 0.4f)},
                            static_cast<int>(random.below(3))});
      }
    }
  }
  void give(Network& network) const {
    network.set_batch(pixels.data(), truths);
    network.setup().backend->finish_uploads();
  }
  std::vector<uint8_t> pixels;
  std::vector<std::vector<Truth>> truths;
};

double error(const std::vector<float>& actual, const std::vector<float>& expected, size_t count) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < count; ++i) {
    difference += std::pow(static_cast<double>(actual[i]) - static_cast<double>(expected[i]), 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(difference / size);
}

/// A backend whose results are the same in every run, for tests that compare bits.
Backend& reproducible_device() {
  // Never destroyed, as tested_device()'s.
  static Backend& backend = *cuda::make_backend({.engines = cuda::EngineSelection::reproducible}).release();
  return backend;
}

bool computes_in(Precision precision) {
  const auto& types = tested_device().compute_types;
  return std::find(types.begin(), types.end(), compute_type(precision)) != types.end();
}

/// Loss and gradients of one step on the device, against the CPU's in fp32.
void expect_step_like_the_cpus(const Model& model, int size, Precision precision, double loss_error,
                               double gradient_error) {
  const auto cpu = make_cpu_backend();
  BoundNetwork expected(*cpu, model, batch, size, Precision::fp32, Mode::train);
  BoundNetwork actual(device(), model, batch, size, precision, Mode::train);
  const MadeUpBatch data(size, 1);
  data.give(expected.network());
  data.give(actual.network());
  const double cpu_loss = expected.loss();
  EXPECT_NEAR(actual.loss(), cpu_loss, loss_error * cpu_loss);
  EXPECT_LT(error(actual.gradients(), expected.gradients(), expected.layout().trainable_floats()),
            gradient_error)
      << enum_name(precision);
}

TEST(CudaNetwork, AStepThroughEveryKindOfLayerIsLikeTheCpus) {
  expect_step_like_the_cpus(model_of(small_model, 3), 32, Precision::fp32, 1e-5, 1e-4);
}

TEST(CudaNetwork, AStepInFp16IsLikeTheCpusInFp32) {
  if (!computes_in(Precision::fp16)) GTEST_SKIP() << "the device does not compute in fp16";
  expect_step_like_the_cpus(model_of(small_model, 3), 32, Precision::fp16, 5e-3, 3e-2);
}

TEST(CudaNetwork, AStepInBf16IsLikeTheCpusInFp32) {
  if (!computes_in(Precision::bf16)) GTEST_SKIP() << "the device does not compute in bf16";
  expect_step_like_the_cpus(model_of(small_model, 3), 32, Precision::bf16, 3e-2, 2e-1);
}

// A machine with one GPU has nothing to show here; a test that skips would be a failure to scripts/check_gpu.
TEST(CudaNetwork, EachOfTwoGpusDoesItsWorkInAnyThread) {
  if (cuda::inspect(0).gpus.size() < 2) return;
  std::vector<std::unique_ptr<Backend>> gpus;
  for (const int index : {0, 1})
    gpus.push_back(cuda::make_backend({.index = index, .engines = cuda::EngineSelection::reproducible}));
  const auto gradients_on = [](Backend& gpu) {
    BoundNetwork bound(gpu, model_of(small_model, 3), batch, 32, Precision::fp32, Mode::train);
    bound.network().allow_recording(true);
    for (int step = 0; step < 3; ++step) {
      MadeUpBatch(32, 1).give(bound.network());
      bound.network().forward_backward({1.0f}, false, nullptr);
    }
    return bound.gradients();
  };
  const std::vector<float> expected = gradients_on(*gpus[0]);
  for (const auto& gpu : gpus) {
    for (const auto policy : {std::launch::deferred, std::launch::async}) {  // in this thread, and in another
      const std::vector<float> actual = std::async(policy, gradients_on, std::ref(*gpu)).get();
      EXPECT_LT(error(actual, expected, expected.size()), 1e-4) << gpu->name();
    }
  }
}

TEST(CudaNetwork, AStepOfTinyIsLikeTheCpus) {
  const Model model = shipped_model("yolov4-tiny", 3);
  expect_step_like_the_cpus(model, 64, Precision::fp32, 1e-4, 1e-3);
}

TEST(CudaNetwork, AStepOfYolov4IsLikeTheCpus) {
  constexpr int images = 4, size = 96;
  const Model model = shipped_model("yolov4", 3);
  const auto cpu = make_cpu_backend();
  Random random(7, Purpose::test);
  std::vector<uint8_t> pixels(3 * size_t{images} * size * size);
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  std::vector<std::vector<Truth>> truths(images);
  for (auto& of_image : truths) of_image = {{{0.4f, 0.6f, 0.3f, 0.2f}, 1}, {{0.7f, 0.3f, 0.2f, 0.5f}, 2}};
  const auto step = [&](Backend& backend, Precision precision, double& loss) {
    BoundNetwork bound(backend, model, images, size, precision, Mode::train);
    bound.network().set_batch(pixels.data(), truths);
    // Through a hundred layers gradients become smaller than fp16's smallest number, unless they are scaled.
    constexpr float scale = 1024;
    loss = bound.loss(scale);
    auto gradients = bound.gradients();
    gradients.resize(bound.layout().trainable_floats());
    for (float& value : gradients) value /= scale;
    return gradients;
  };
  double expected_loss = 0, loss = 0;
  const auto expected = step(*cpu, Precision::fp32, expected_loss);
  // A hundred batch-norms over few pixels make much of little: weights that differ by 1e-6 change the CPU's
  // own gradient by 6 %, so that its value says nothing in 16 bits.
  EXPECT_LT(relative_error(step(device(), Precision::fp32, loss), expected), 0.1);
  EXPECT_NEAR(loss, expected_loss, 1e-4 * expected_loss);
  step(device(), Precision::fp16, loss);
  EXPECT_NEAR(loss, expected_loss, 1e-2 * expected_loss);
}

/// A network with an optimizer step.
struct SteppedNetwork {
  SteppedNetwork(Backend& backend, Precision precision, const RunConfig& config)
      : bound(backend, model_of(small_model, 3), batch, 32, precision, Mode::train),
        optimizer_step(config.optimizer, config.ema, precision, bound.layout(), backend,
                       bound.device_values(), batch) {
    optimizer_step.set_rate(0.01f);
    // Nothing writes the padding between the parameters' gradients, and their norm runs over it.
    backend.zero(bound.device_gradients(), bound.layout().trainable_floats() * sizeof(float));
  }
  void step(const MadeUpBatch& data) {
    data.give(bound.network());
    bound.network().forward_backward(optimizer_step.gradient_scale(1.0f / batch), false,
                                     optimizer_step.losses());
    optimizer_step.step(bound.device_gradients());
    bound.changed();
  }
  BoundNetwork bound;
  OptimizerStep optimizer_step;
};

RunConfig small_config(Precision precision, OptimizerKind optimizer = OptimizerKind::sgd) {
  RunConfig config;
  config.train.batch = batch;
  config.train.precision = precision;
  config.optimizer.kind = optimizer;
  config.ema = {.decay = 0.9998f, .ramp = 2000};
  return config;
}

void expect_ten_steps_like_the_cpus(OptimizerKind optimizer) {
  const auto cpu = make_cpu_backend();
  const RunConfig config = small_config(Precision::fp32, optimizer);
  SteppedNetwork expected(*cpu, Precision::fp32, config);
  SteppedNetwork actual(device(), Precision::fp32, config);
  for (uint64_t i = 0; i < 10; ++i) {
    const MadeUpBatch data(32, i);
    expected.step(data);
    actual.step(data);
  }
  const StepState cpu_state = expected.optimizer_step.state(), state = actual.optimizer_step.state();
  EXPECT_EQ(state.applied, 10);
  EXPECT_NEAR(state.sums.box, cpu_state.sums.box, 1e-3 * cpu_state.sums.box);
  EXPECT_NEAR(state.sums.objectness, cpu_state.sums.objectness, 1e-3 * cpu_state.sums.objectness);
  EXPECT_NEAR(state.sums.classes, cpu_state.sums.classes, 1e-3 * cpu_state.sums.classes);
  const auto values = actual.bound.values(), cpu_values = expected.bound.values();
  EXPECT_LT(error(values, cpu_values, values.size()), 1e-3);
}

TEST(CudaNetwork, TenTrainingStepsStayWithTheCpus) {
  expect_ten_steps_like_the_cpus(OptimizerKind::sgd);
}

TEST(CudaNetwork, TenStepsOfAdamWStayWithTheCpus) {
  expect_ten_steps_like_the_cpus(OptimizerKind::adamw);
}

TEST(CudaNetwork, RecordedStepsAreThoseThatAreQueuedOneByOneToTheBit) {
  SteppedNetwork recorded(reproducible_device(), Precision::fp32, small_config(Precision::fp32));
  SteppedNetwork queued(reproducible_device(), Precision::fp32, small_config(Precision::fp32));
  queued.bound.network().allow_recording(false);
  for (uint64_t i = 0; i < 5; ++i) {
    const MadeUpBatch data(32, i);
    recorded.step(data);
    queued.step(data);
    const auto a = recorded.bound.values(), b = queued.bound.values();
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << "after step " << i + 1;
  }
}

/// Gradients of steps over two sizes in turn, in one arena: the first step of each is queued operation by operation,
/// the second recorded, the others replayed.
std::vector<std::vector<float>> steps_over_two_sizes(Precision precision, bool recorded) {
  const Model model = model_of(small_model, 3);
  Backend& backend = reproducible_device();
  BoundNetwork large(backend, model, batch, 64, precision, Mode::train);
  NetworkSetup setup = large.network().setup();
  setup.height = setup.width = 32;
  Network small(setup);
  DeviceBuffer arena(backend, std::max(large.network().memory().arena(), small.memory().arena()));
  // Nothing writes the padding between the parameters' gradients, and what memory held before is added to the values.
  backend.zero(large.device_gradients(), large.layout().trainable_floats() * sizeof(float));
  std::vector<std::vector<float>> steps;
  for (uint64_t step = 0; step < 8; ++step) {
    Network& network = step % 2 == 0 ? large.network() : small;
    network.allow_recording(recorded);
    network.bind(arena.data());
    const MadeUpBatch data(network.setup().height, step);
    data.give(network);
    network.forward_backward({64.0f}, false);
    std::vector<float> values = large.values();
    steps.push_back(large.gradients());
    for (size_t i = 0; i < large.layout().trainable_floats(); ++i) values[i] -= 1e-5f * steps.back()[i];
    large.set_values(values);
  }
  return steps;
}

/// Names the gradients that differ in the first step in which any does.
void expect_same_steps(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  const ParameterLayout layout(model_of(small_model, 3));
  for (size_t step = 0; step < a.size(); ++step) {
    for (const ParameterEntry& entry : layout.entries()) {
      if (entry.offset >= layout.trainable_floats()) continue;
      const std::span x(&a[step][entry.offset], entry.count), y(&b[step][entry.offset], entry.count);
      EXPECT_TRUE(std::ranges::equal(x, y))
          << entry.name << " in step " << step << ": " << relative_error(x, y);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CudaNetwork, ReplayedStepsOverTwoSizesAreThoseThatAreQueuedToTheBit) {
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    if (!computes_in(precision)) continue;
    const auto queued = steps_over_two_sizes(precision, false);
    {
      SCOPED_TRACE(std::string(enum_name(precision)) + ", queued twice");
      expect_same_steps(queued, steps_over_two_sizes(precision, false));
    }
    SCOPED_TRACE(std::string(enum_name(precision)) + ", replayed");
    expect_same_steps(queued, steps_over_two_sizes(precision, true));
  }
}

TEST(CudaNetwork, RecomputedActivationsGiveTheSameGradientsToTheBit) {
  const Model model = model_of(small_model, 3);
  BoundNetwork kept(reproducible_device(), model, batch, 32, Precision::fp16, Mode::train);
  BoundNetwork rebuilt(reproducible_device(), model, batch, 32, Precision::fp16, Mode::train, true);
  const MadeUpBatch data(32, 1);
  data.give(kept.network());
  data.give(rebuilt.network());
  EXPECT_EQ(kept.loss(), rebuilt.loss());
  const auto a = kept.gradients(), b = rebuilt.gradients();
  for (const auto& entry : kept.layout().entries()) {
    if (entry.offset >= kept.layout().trainable_floats()) continue;
    EXPECT_EQ(std::memcmp(&a[entry.offset], &b[entry.offset], entry.count * sizeof(float)), 0) << entry.name;
  }
}

TEST(CudaNetwork, AnOverflowInFp16SkipsTheStepAndHalvesTheScale) {
  RunConfig config = small_config(Precision::fp16);
  config.optimizer.loss_scale = 1e30f;
  SteppedNetwork network(device(), Precision::fp16, config);
  const auto before = network.bound.values();
  network.step(MadeUpBatch(32, 1));
  const StepState state = network.optimizer_step.state();
  EXPECT_EQ(state.skipped, 1);
  EXPECT_EQ(state.applied, 0);
  EXPECT_FLOAT_EQ(state.loss_scale, 0.5e30f);
  const auto after = network.bound.values();
  EXPECT_EQ(std::memcmp(before.data(), after.data(), before.size() * sizeof(float)), 0);
}

TEST(CudaNetwork, PixelsThatAreUploadedAheadAreThoseOfTheirOwnStep) {
  const auto cpu = make_cpu_backend();
  BoundNetwork expected(*cpu, model_of(small_model, 3), batch, 32, Precision::fp32, Mode::train);
  BoundNetwork actual(device(), model_of(small_model, 3), batch, 32, Precision::fp32, Mode::train);
  const size_t bytes = MadeUpBatch(32, 0).pixels.size();
  auto* host = static_cast<uint8_t*>(device().allocate_host(bytes));
  for (uint64_t i = 0; i < 5; ++i) {
    const MadeUpBatch data(32, i);
    device().finish_uploads();  // the one buffer there is may change
    std::memcpy(host, data.pixels.data(), bytes);
    actual.network().set_batch(host, data.truths);
    data.give(expected.network());
    EXPECT_NEAR(actual.loss(), expected.loss(), 1e-4 * expected.loss()) << "step " << i;
  }
  device().finish_uploads();
  device().release_host(host);
}

TEST(CudaNetwork, InferenceIsLikeTheCpus) {
  const auto cpu = make_cpu_backend();
  const Model model = model_of(small_model, 3);
  BoundNetwork expected(*cpu, model, batch, 32, Precision::fp32, Mode::infer);
  BoundNetwork actual(device(), model, batch, 32, Precision::fp32, Mode::infer);
  for (uint64_t i = 0; i < 4; ++i) {  // as it comes, recorded, replayed
    const MadeUpBatch data(32, i);
    expected.network().set_pixels(data.pixels.data());
    actual.network().set_pixels(data.pixels.data());
    expected.network().infer();
    actual.network().infer();
    const auto a = actual.network().detections(0.001f), b = expected.network().detections(0.001f);
    for (int image = 0; image < batch; ++image) {
      const auto& mine = a[static_cast<size_t>(image)];
      const auto& theirs = b[static_cast<size_t>(image)];
      ASSERT_EQ(mine.size(), theirs.size()) << "image " << image;
      ASSERT_FALSE(mine.empty()) << "image " << image;
      for (size_t k = 0; k < mine.size(); ++k) {
        EXPECT_EQ(mine[k].class_id, theirs[k].class_id);
        EXPECT_NEAR(mine[k].score, theirs[k].score, 1e-5);
        EXPECT_NEAR(mine[k].box.x, theirs[k].box.x, 1e-4);
        EXPECT_NEAR(mine[k].box.y, theirs[k].box.y, 1e-4);
        EXPECT_NEAR(mine[k].box.w, theirs[k].box.w, 1e-4);
        EXPECT_NEAR(mine[k].box.h, theirs[k].box.h, 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
