// What launches state that they move, against what the emulated kernels load and store; and a plan's count,
// which needs no GPU, against that of the step when it runs.
#include "tests/cuda_emulation/traffic.h"

#include <gtest/gtest.h>

#include "kernels/cuda/cuda_backend.h"
#include "tests/cuda_emulation/convolution.h"
#include "tests/cuda_emulation/emulated_device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

using emulation::CountedLaunch;
using emulation::CountTraffic;

// Shortcuts, shared inputs, concats, a pyramid, an upsampling and a head: what yolov4 is made of.
constexpr const char* parts_of_yolov4 = R"(
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
  - conv: {name: last, filters: 16, size: 1, activation: leaky}
  - max_pool: {size: 2, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// The state of a step and channels' numbers, of which a kernel may need a part.
constexpr size_t few = 256;

size_t distance(size_t a, size_t b) {
  return a < b ? b - a : a - b;
}

void expect_as_stated(const std::vector<CountedLaunch>& launches) {
  EXPECT_FALSE(launches.empty());
  for (const CountedLaunch& launch : launches) {
    EXPECT_TRUE(launch.states_traffic) << launch.where;
    EXPECT_LE(distance(launch.stated.read, launch.counted.read), few)
        << launch.where << " reads " << launch.counted.read << " bytes and states " << launch.stated.read;
    EXPECT_LE(distance(launch.stated.written, launch.counted.written), few)
        << launch.where << " writes " << launch.counted.written << " bytes and states "
        << launch.stated.written;
  }
}

/// A training step without ground truth, which is the part that launches can state.
void give_images(BoundNetwork& bound) {
  const auto& setup = bound.network().setup();
  const std::vector<uint8_t> pixels(static_cast<size_t>(setup.batch) * setup.height * setup.width * 3, 100);
  const std::vector<std::vector<Truth>> nothing(setup.batch);
  bound.network().set_batch(pixels.data(), nothing);
  setup.backend->finish_uploads();
}

void run_step(Network& network, Parameters& parameters, bool accumulate) {
  ++parameters.version;
  network.forward();
  network.backward({1}, accumulate);
}

/// The first pass of a step, and a later one.
enum class Pass : uint8_t { first, later };

/// From the plan: a backend that only lists.
std::vector<LaunchRecord> list_step(const Model& model, Precision precision, Pass pass) {
  LaunchList list(cuda::multiprocessors());
  const auto planner = cuda::CudaBackend::planner("planner", emulation::make_convolution);
  BoundNetwork bound(*planner, model, 2, 64, precision, Mode::train);
  list.clear();
  run_step(bound.network(), bound.parameters(), pass == Pass::later);
  return list.records();
}

struct Totals {
  size_t launches = 0, bytes = 0;
  bool operator==(const Totals&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Totals& totals) {
  return out << totals.launches << " launches that move " << totals.bytes << " bytes";
}

Totals planned(const Model& model, Precision precision, Pass pass) {
  Totals totals;
  for (const LaunchRecord& record : list_step(model, precision, pass)) {
    if (record.convolution) continue;
    EXPECT_TRUE(record.states_traffic) << record.name;
    ++totals.launches;
    totals.bytes += record.traffic.bytes();
  }
  return totals;
}

TEST(EmulatedTraffic, LaunchesMoveWhatTheyStateAndThePlanSaysSo) {
  if (!CountTraffic::available()) GTEST_SKIP() << "accesses cannot be counted beside another sanitizer";
  const auto gpu = make_emulated_backend();
  const Model model = model_of(parts_of_yolov4, 4);  // 18 channels of predictions, and in fp16 6 of padding
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    for (const Pass pass : {Pass::first, Pass::later}) {
      SCOPED_TRACE(std::string(enum_name(precision)) + ", pass " + std::to_string(static_cast<int>(pass)));
      BoundNetwork bound(*gpu, model, 2, 64, precision, Mode::train);
      give_images(bound);
      gpu->synchronize();
      const CountTraffic counting;
      run_step(bound.network(), bound.parameters(), pass == Pass::later);
      gpu->synchronize();
      expect_as_stated(CountTraffic::launches());
      Totals counted;
      for (const CountedLaunch& launch : CountTraffic::launches()) {
        ++counted.launches;
        counted.bytes += launch.counted.bytes();
      }
      EXPECT_EQ(planned(model, precision, pass), counted);
    }
  }
}

TEST(EmulatedTraffic, ResidualBlocksAddAndCopyNothingByThemselves) {
  for (const LaunchRecord& record : list_step(model_of(parts_of_yolov4, 3), Precision::fp16, Pass::first)) {
    EXPECT_NE(record.name, "add");
    const bool concat_of_upsampled = record.name == "copy_channels";
    EXPECT_TRUE(!concat_of_upsampled || record.layer > 14) << "layer " << record.layer;
  }
}

TEST(EmulatedTraffic, CastsOfAllLayersAreTwoLaunches) {
  const Model model = model_of(parts_of_yolov4, 3);
  for (const Pass pass : {Pass::first, Pass::later}) {
    int casts = 0, of_first_layer = 0;
    for (const LaunchRecord& record : list_step(model, Precision::fp16, pass)) {
      casts += record.name == "cast";
      if (record.name != "convolution_kernels") continue;
      EXPECT_EQ(record.layer, 0);
      ++of_first_layer;
    }
    EXPECT_EQ(casts, 2) << "the working weights, and the weights' gradients";
    EXPECT_EQ(of_first_layer, 2) << "which has three of eight input channels";
  }
}

TEST(EmulatedTraffic, TheImageIsWrittenWithEightChannelsInSixteenBits) {
  const size_t pixels = 2 * 64 * 64;
  for (const auto& [precision, written] :
       {std::pair(Precision::fp16, 8 * 2), {Precision::bf16, 8 * 2}, {Precision::fp32, 3 * 4}}) {
    size_t images = 0;
    for (const LaunchRecord& record : list_step(model_of(parts_of_yolov4, 3), precision, Pass::first)) {
      if (record.name != "image") continue;
      ++images;
      EXPECT_EQ(record.traffic.read, 3 * pixels);
      EXPECT_EQ(record.traffic.written, static_cast<size_t>(written) * pixels) << enum_name(precision);
    }
    EXPECT_EQ(images, 1u);
  }
}

TEST(EmulatedTraffic, TheOptimizersStepMovesWhatItStates) {
  if (!CountTraffic::available()) GTEST_SKIP() << "accesses cannot be counted beside another sanitizer";
  const auto gpu = make_emulated_backend();
  constexpr size_t count = 5000, statistics = 600;
  const DeviceBuffer values(*gpu, (count + statistics) * 4), gradients(*gpu, count * 4),
      first(*gpu, count * 4), second(*gpu, count * 4), ema(*gpu, (count + statistics) * 4),
      kept(*gpu, statistics * 4), ranges(*gpu, 3 * sizeof(ParameterRange)), state(*gpu, sizeof(StepState)),
      workspace(*gpu, step_workspace_bytes);
  for (const DeviceBuffer* buffer : {&values, &gradients, &first, &second, &ema, &kept})
    gpu->zero(buffer->data(), buffer->bytes());
  const ParameterRange all[] = {{0, 100, 1, 1e-4f}, {100, 3104, 1, 1e-4f}, {3104, count, 1, 1e-4f}};
  gpu->upload(ranges.data(), all, sizeof all);
  const StepState start;
  gpu->upload(state.data(), &start, sizeof start);
  gpu->synchronize();
  const CountTraffic counting;
  auto* const device_state = static_cast<StepState*>(state.data());
  const std::span<const ParameterRange> three(static_cast<const ParameterRange*>(ranges.data()), 3);
  gpu->check_step({}, {gradients.floats(), count, values.floats() + count, statistics}, device_state,
                  workspace.data());
  OptimizerArrays arrays{count, values.floats(), gradients.floats(), first.floats(), nullptr, ema.floats()};
  gpu->optimizer_step(Sgd{}, arrays, three, device_state);
  gpu->optimizer_step(Lion{}, arrays, three, device_state);
  arrays.second = second.floats();
  arrays.ema = nullptr;
  gpu->optimizer_step(AdamW{}, arrays, three, device_state);
  gpu->commit_statistics(values.floats() + count, kept.floats(), ema.floats() + count, statistics,
                         device_state);
  gpu->synchronize();
  expect_as_stated(CountTraffic::launches());
}

}  // namespace
}  // namespace brightnet::testing
