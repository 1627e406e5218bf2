// cuDNN's engines for the graphs of kernels/cuda/convolution_graph.cpp, asked for without a
// GPU: the heuristics take a description of one. What the engines compute, and how fast, only a
// GPU shows (tests/gpu/convolution_test.cpp).
#include "kernels/cuda/convolution_graph.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <set>

#include <cudnn_frontend.h>
#include <gtest/gtest.h>

#include "kernels/cuda/convolution_workspace.h"
#include "kernels/cuda/libraries.h"

namespace brightnet::cuda {
namespace {

namespace fe = cudnn_frontend;

/// As cuDNN itself writes it down; the figures are of cards of these compute capabilities.
struct Gpu {
  int compute_capability;  ///< times 100
  int multiprocessors, shared_memory, blocks, threads;

  std::string json() const {
    const auto number = [](int value) { return std::to_string(value); };
    return R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
           R"("warpSize":32,"maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,)"
           R"("maxRegistersPerSM":65536,"maxThreadsPerBlock":1024,"pciDeviceId":0,"isTccDriver":0,)"
           R"("supportCoopLaunch":1,"totalGlobalMem":16000000000,"smClockRateKHz":1500000,)"
           R"("memClockRateKHz":2000000,"l2CacheSize":41943040,"deviceName":"none","cudaDeviceId":0,)"
           R"("driverVer":13000,"multiProcessorCount":)" +
           number(multiprocessors) + R"(,"maxSharedMemoryPerBlockOptin":)" + number(shared_memory) +
           R"(,"maxCtasPerSM":)" + number(blocks) + R"(,"maxThreadsPerSM":)" + number(threads) +
           R"(,"deviceVer":)" + number(compute_capability) + "}";
  }
};

constexpr Gpu t4{750, 40, 65536, 16, 1024}, a100{800, 108, 166912, 32, 2048},
    rtx3090{860, 82, 101376, 16, 1536}, rtx4090{890, 128, 101376, 24, 1536}, h200{900, 132, 232448, 32, 2048},
    b200{1000, 148, 232448, 32, 2048}, rtx5090{1200, 170, 101376, 24, 1536};

/// Opens what the frontend keeps to itself: the plans of a graph.
struct PlansOf : fe::ICudnn {
  static fe::graph::Execution_plan_list& of(fe::graph::Graph& graph) {
    return static_cast<fe::ICudnn&>(graph).*(&PlansOf::plans);
  }
};

std::shared_ptr<const fe::DeviceProperties> properties_of(const Gpu& gpu) {
  const std::string json = gpu.json();
  std::vector<uint8_t> text(json.begin(), json.end());
  text.push_back(0);
  auto properties = std::make_shared<fe::DeviceProperties>();
  auto read = properties->deserialize(text);
  EXPECT_TRUE(read.is_good()) << read.get_message();
  return properties;
}

/// Asks the heuristics for the engines of a graph; false when cuDNN does not know such a graph.
bool plan(const ConvolutionVariant& variant, const Gpu& gpu) {
  fe::graph::Graph& graph = *variant.graph;
  graph.set_device_properties(properties_of(gpu));
  auto valid = graph.validate();
  EXPECT_TRUE(valid.is_good()) << valid.get_message();
  return graph.build_operation_graph().is_good() && graph.create_execution_plans(engine_lists).is_good();
}

/// Engines that cuDNN names for a graph.
int64_t engines_for(const ConvolutionVariant& variant, const Gpu& gpu) {
  return plan(variant, gpu) ? variant.graph->get_execution_plan_count() : 0;
}

/// The different engines that a run could take under these limits: cuDNN supports them, and none of the filters of
/// kernels/cuda/convolution_graph.cpp bars them.
size_t usable_engines(const ConvolutionVariant& variant, const Gpu& gpu, DType type,
                      const EngineLimits& limits) {
  if (!plan(variant, gpu)) return 0;
  deselect_engines(*variant.graph, type, limits);
  return usable_engines(ConvolutionVariants{variant}).size();
}

int64_t engines_for(const ConvolutionVariants& variants, const std::string& name, const Gpu& gpu) {
  for (const ConvolutionVariant& variant : variants) {
    if (variant.name == name) return engines_for(variant, gpu);
  }
  ADD_FAILURE() << "no variant " << name;
  return 0;
}

/// Convolutions of yolov4 at 608 pixels.
ConvolutionSpec spec_of(int size, int inputs, int outputs, int kernel, int stride, DType type) {
  ConvolutionSpec spec;
  spec.input = {8, size, size, inputs};
  spec.output = {8, size / stride, size / stride, outputs};
  spec.kernel = kernel;
  spec.stride = stride;
  spec.padding = kernel / 2;
  spec.type = type;
  spec.statistics = true;
  return spec;
}

/// Side of the input, input channels, output channels, kernel, stride.
using LayerShape = std::array<int, 5>;
constexpr LayerShape convolutions_of_yolov4[] = {
    {608, 3, 32, 3, 1},    {608, 32, 64, 3, 2},    {304, 64, 64, 1, 1},   {304, 64, 32, 1, 1},
    {304, 32, 64, 3, 1},   {304, 128, 64, 1, 1},   {304, 64, 128, 1, 1},  {304, 64, 128, 3, 2},
    {152, 128, 64, 1, 1},  {152, 64, 64, 1, 1},    {152, 64, 64, 3, 1},   {152, 128, 128, 1, 1},
    {152, 128, 256, 3, 2}, {76, 256, 128, 1, 1},   {76, 128, 128, 1, 1},  {76, 128, 128, 3, 1},
    {76, 256, 256, 1, 1},  {76, 128, 256, 3, 1},   {76, 256, 255, 1, 1},  {76, 128, 256, 3, 2},
    {76, 256, 512, 3, 2},  {38, 512, 256, 1, 1},   {38, 256, 256, 1, 1},  {38, 256, 256, 3, 1},
    {38, 512, 512, 1, 1},  {38, 256, 128, 1, 1},   {38, 256, 512, 3, 1},  {38, 512, 255, 1, 1},
    {38, 256, 512, 3, 2},  {38, 512, 1024, 3, 2},  {19, 1024, 512, 1, 1}, {19, 512, 512, 1, 1},
    {19, 512, 512, 3, 1},  {19, 1024, 1024, 1, 1}, {19, 512, 1024, 3, 1}, {19, 2048, 512, 1, 1},
    {19, 512, 256, 1, 1},  {19, 1024, 255, 1, 1}};
static_assert(std::size(convolutions_of_yolov4) == 38);

ConvolutionSpec spec_of(const LayerShape& shape, int batch, DType type) {
  // In 16-bit types the image has eight channels, and predictions have 256 (Backend::padded_channels()).
  const int inputs = shape[1] == 3 && type != DType::f32 ? 8 : shape[1];
  const int outputs = shape[2] == 255 && type != DType::f32 ? 256 : shape[2];
  ConvolutionSpec spec = spec_of(shape[0], inputs, outputs, shape[3], shape[4], type);
  spec.input.n = spec.output.n = batch;
  spec.input_gradient = shape[1] != 3;
  return spec;
}

class CudaConvolutionGraph : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cudnn_library().loaded()) GTEST_SKIP() << "cuDNN cannot be loaded: " << cudnn_library().problem();
    fe::cudnn_dlhandle = cudnn_library().handle();
    if (fe::detail::get_backend_version() < 90800) GTEST_SKIP() << "cuDNN is asked without a GPU since 9.8";
  }
};

TEST_F(CudaConvolutionGraph, EveryPassHasEngines) {
  for (const Gpu& gpu : {t4, a100, h200}) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      if (type == DType::bf16 && gpu.compute_capability < 800) continue;
      for (const ConvolutionSpec& spec :
           {spec_of(608, 3, 32, 3, 1, type), spec_of(608, 32, 64, 3, 2, type),
            spec_of(76, 256, 128, 1, 1, type), spec_of(19, 1024, 255, 1, 1, type)}) {
        SCOPED_TRACE(to_string(spec.input) + ' ' + std::string(enum_name(type)) + " on " +
                     std::to_string(gpu.compute_capability));
        EXPECT_GT(engines_for(forward_variants(spec), "plain", gpu), 0);
        EXPECT_GT(engines_for(backward_data_variants(spec), "plain", gpu), 0);
        EXPECT_GT(engines_for(backward_weights_variants(spec), "plain", gpu), 0);
      }
    }
  }
}

struct Policy {
  Precision precision;
  bool deterministic;
};

/// The fewest usable engines of a pass over all convolutions of yolov4. None may have fewer than four, or, where cuDNN
/// itself has fewer, fewer than these.
size_t fewest_engines(const Gpu& gpu, int batch, const Policy& policy) {
  const DType type = compute_type(policy.precision);
  size_t fewest = SIZE_MAX;
  for (const LayerShape& shape : convolutions_of_yolov4) {
    const ConvolutionSpec spec = spec_of(shape, batch, type);
    EngineLimits limits{policy.precision == Precision::tf32, policy.deterministic, most_engine_bytes(spec)};
    const auto expect_choice = [&](const char* pass, const std::function<ConvolutionVariants()>& variants) {
      const size_t usable = usable_engines(variants().back(), gpu, type, limits);
      EngineLimits any_memory = limits;
      any_memory.workspace_bytes = size_t{1} << 50;
      const size_t demanded =
          usable >= 4 ? 4 : std::min<size_t>(4, usable_engines(variants().back(), gpu, type, any_memory));
      EXPECT_GE(usable, std::max<size_t>(demanded, 1))
          << pass << ' ' << to_string(spec.input) << " -> " << to_string(spec.output) << " k" << spec.kernel
          << ' ' << enum_name(policy.precision) << (policy.deterministic ? " deterministic" : "") << " on "
          << gpu.compute_capability;
      fewest = std::min(fewest, usable);
    };
    expect_choice("forward", [&] { return forward_variants(spec); });
    if (spec.input_gradient) expect_choice("backward data", [&] { return backward_data_variants(spec); });
    expect_choice("backward weights", [&] { return backward_weights_variants(spec); });
  }
  return fewest;
}

void expect_engines_at(int batch) {
  for (const Gpu& gpu : {t4, a100, rtx3090, rtx4090, h200, b200, rtx5090}) {
    std::string row = "compute capability " + std::to_string(gpu.compute_capability / 100) + '.' +
                      std::to_string(gpu.compute_capability % 100 / 10) + ", batch " + std::to_string(batch) +
                      ", fewest engines of a pass:";
    for (const Policy policy :
         {Policy{Precision::fp32, false}, Policy{Precision::fp32, true}, Policy{Precision::tf32, false},
          Policy{Precision::fp16, false}, Policy{Precision::bf16, false}}) {
      const bool old = gpu.compute_capability < 800;
      if (old && (policy.precision == Precision::tf32 || policy.precision == Precision::bf16)) continue;
      row += ' ' + std::string(enum_name(policy.precision)) +
             (policy.deterministic ? " deterministic " : " ") +
             std::to_string(fewest_engines(gpu, batch, policy));
    }
    std::printf("%s\n", row.c_str());
  }
}

/// All GPUs, batches and precisions: half a minute each. Some of them are below, in the quick tests.
class SlowCudaConvolutionGraph : public CudaConvolutionGraph {};

TEST_F(SlowCudaConvolutionGraph, EveryPassOfYolov4HasFourEnginesToChooseFromAtBatch64) {
  expect_engines_at(64);
}
TEST_F(SlowCudaConvolutionGraph, EveryPassOfYolov4HasFourEnginesToChooseFromAtBatch8) {
  expect_engines_at(8);
}

TEST_F(CudaConvolutionGraph, EveryPassOfYolov4HasFourEnginesInFp32OnAnH200) {
  EXPECT_GE(fewest_engines(h200, 64, {Precision::fp32, false}), 4u);
}

TEST_F(CudaConvolutionGraph, EveryPassOfYolov4HasFourEnginesInFp16OnAT4) {
  EXPECT_GE(fewest_engines(t4, 8, {Precision::fp16, false}), 4u);
}
TEST_F(CudaConvolutionGraph, EveryPassOfYolov4HasFourEnginesInFp16OnAnH200) {
  EXPECT_GE(fewest_engines(h200, 8, {Precision::fp16, false}), 4u);
}

TEST_F(CudaConvolutionGraph, InTf32NoEngineConvertsToAHalfPrecision) {
  for (const Gpu& gpu : {a100, h200}) {
    const ConvolutionSpec spec = spec_of(76, 128, 128, 3, 1, DType::f32);
    size_t tensor_cores = 0;
    for (const ConvolutionVariants& variants :
         {forward_variants(spec), backward_data_variants(spec), backward_weights_variants(spec)}) {
      fe::graph::Graph& graph = *variants.back().graph;
      ASSERT_TRUE(plan(variants.back(), gpu));
      deselect_engines(graph, DType::f32, {true, false, most_engine_bytes(spec)});
      for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
        if (PlansOf::of(graph).check_support_at_index(i).is_bad()) continue;
        const auto& notes = PlansOf::of(graph).numeric_notes[static_cast<size_t>(i)];
        const auto has = [&](fe::NumericalNote_t note) {
          return std::find(notes.begin(), notes.end(), note) != notes.end();
        };
        EXPECT_FALSE(has(fe::NumericalNote_t::DOWN_CONVERT_INPUTS)) << i;
        tensor_cores += has(fe::NumericalNote_t::TENSOR_CORE);
      }
    }
    EXPECT_GT(tensor_cores, 0u) << "on " << gpu.compute_capability;
  }
}

TEST_F(CudaConvolutionGraph, WithoutRoomFewEnginesAreLeftInFp32) {
  const ConvolutionSpec spec = spec_of({608, 32, 64, 3, 2}, 64, DType::f32);
  const auto usable = [&](size_t bytes) {
    return usable_engines(backward_data_variants(spec).back(), h200, DType::f32, {false, false, bytes});
  };
  EXPECT_LT(usable(least_engine_bytes(spec)), 4u);
  EXPECT_GE(usable(most_engine_bytes(spec)), 4u);
}

// Of those that are deselected, by notes or for want of workspace, none may take a place in the timing.
TEST_F(CudaConvolutionGraph, DeselectedEnginesAreNotOffered) {
  const ConvolutionSpec spec = spec_of({608, 32, 64, 3, 2}, 64, DType::f32);
  const ConvolutionVariants variants = backward_data_variants(spec);
  ASSERT_TRUE(plan(variants.back(), h200));
  const auto offered = [&] {
    std::set<std::string> names;
    for (const ConvolutionEngine& engine : usable_engines(variants)) names.insert(engine.name);
    return names;
  };
  const std::set<std::string> all = offered();
  deselect_engines(*variants.back().graph, DType::f32, {false, false, size_t{1} << 50});
  const std::set<std::string> exact = offered();
  EXPECT_LT(exact.size(), all.size()) << "engines that compute in tf32";
  deselect_engines(*variants.back().graph, DType::f32, {false, false, least_engine_bytes(spec)});
  const std::set<std::string> small = offered();
  EXPECT_LT(small.size(), exact.size()) << "engines that need more workspace";
  EXPECT_TRUE(std::includes(all.begin(), all.end(), small.begin(), small.end()));
}

// What earlier runs have chosen is planned and built by several threads.
TEST_F(CudaConvolutionGraph, ThreadsThatAskAtTheSameTimeGetTheSameAnswers) {
  const auto names = [](size_t shape) {
    std::vector<std::string> all;
    for (const auto& variants_of : {forward_variants, backward_data_variants, backward_weights_variants}) {
      const ConvolutionVariants variants = variants_of(spec_of(convolutions_of_yolov4[shape], 8, DType::f16));
      for (const ConvolutionVariant& variant : variants) EXPECT_TRUE(plan(variant, h200));
      for (const ConvolutionEngine& engine : usable_engines(variants)) all.push_back(engine.name);
    }
    return all;
  };
  constexpr size_t shapes = 8;
  std::vector<std::future<std::vector<std::string>>> asked;
  for (size_t i = 0; i < shapes; ++i) asked.push_back(std::async(std::launch::async, names, i + 1));
  for (size_t i = 0; i < shapes; ++i) {
    const std::vector<std::string> together = asked[i].get();
    EXPECT_GT(together.size(), 6u);
    EXPECT_EQ(together, names(i + 1)) << i;
  }
}

// What `train.precision: auto` goes by. Engines that cuDNN compiles itself need a driver before they are named.
TEST_F(CudaConvolutionGraph, SumsAreOfferedInFp16) {
  for (const Gpu& gpu : {a100, rtx3090, rtx4090, h200, b200}) {
    EXPECT_TRUE(has_engines_with_sums(DType::f16, properties_of(gpu))) << gpu.compute_capability;
    EXPECT_FALSE(has_engines_with_sums(DType::bf16, properties_of(gpu))) << gpu.compute_capability;
  }
  for (const Gpu& gpu : {t4, rtx5090})
    EXPECT_FALSE(has_engines_with_sums(DType::f16, properties_of(gpu))) << gpu.compute_capability;
}

TEST_F(CudaConvolutionGraph, TheFirstLayerHasSumsOnceTheImageHasEightChannels) {
  for (const Gpu& gpu : {a100, rtx3090, rtx4090, h200, b200}) {
    SCOPED_TRACE(gpu.compute_capability);
    EXPECT_GT(engines_for(forward_variants(spec_of(608, 8, 32, 3, 1, DType::f16)), "sums", gpu), 0);
    for (const ConvolutionVariant& variant : forward_variants(spec_of(608, 3, 32, 3, 1, DType::f16)))
      EXPECT_NE(variant.name, "sums");
  }
}

// What docs/gpu.md says of cuDNN's fusions, but for those that it compiles itself, which takes a driver.
// Engines that cuDNN compiles when it runs, "sum", "fused" and what there may be of "sums" in bf16 or on other cards,
// need the driver before it names them.
TEST_F(CudaConvolutionGraph, WhatIsFusedHasEngines) {
  for (const Gpu& gpu : {a100, rtx3090, rtx4090, h200, b200}) {
    for (const int kernel : {1, 3}) {
      const ConvolutionSpec spec = spec_of(76, 128, 128, kernel, 1, DType::f16);
      SCOPED_TRACE(std::to_string(kernel) + " on " + std::to_string(gpu.compute_capability));
      EXPECT_GT(engines_for(forward_variants(spec), "sums", gpu), 0);
    }
  }
}

}  // namespace
}  // namespace brightnet::cuda
