// cuDNN's engines for the graphs of kernels/cuda/convolution_graph.cpp, asked for without a
// GPU: the heuristics take a description of one. What the engines compute, and how fast, only a
// GPU shows (tests/gpu/convolution_test.cpp).
#include <gtest/gtest.h>

#include "kernels/cuda/convolution_graph.h"
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
    h200{900, 132, 232448, 32, 2048};

/// Engines that cuDNN names for a graph; 0 also when it does not know such a graph.
int64_t engines_for(const ConvolutionVariant& variant, const Gpu& gpu) {
  const std::string json = gpu.json();
  std::vector<uint8_t> text(json.begin(), json.end());
  text.push_back(0);
  auto properties = std::make_shared<fe::DeviceProperties>();
  auto read = properties->deserialize(text);
  EXPECT_TRUE(read.is_good()) << read.get_message();
  fe::graph::Graph& graph = *variant.graph;
  graph.set_device_properties(properties);
  auto valid = graph.validate();
  EXPECT_TRUE(valid.is_good()) << valid.get_message();
  if (!graph.build_operation_graph().is_good() ||
      !graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_good())
    return 0;
  return graph.get_execution_plan_count();
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
        EXPECT_GT(engines_for(forward_variants(spec, nullptr, nullptr), "plain", gpu), 0);
        EXPECT_GT(engines_for(backward_data_variants(spec), "plain", gpu), 0);
        EXPECT_GT(engines_for(backward_weights_variants(spec), "plain", gpu), 0);
      }
    }
  }
}

// What docs/gpu.md says of cuDNN's fusions, but for those that it compiles itself, which takes a driver.
TEST_F(CudaConvolutionGraph, WhatIsFusedHasEngines) {
  for (const Gpu& gpu : {a100, h200}) {
    for (const int kernel : {1, 3}) {
      const ConvolutionSpec spec = spec_of(76, 128, 128, kernel, 1, DType::f16);
      SCOPED_TRACE(std::to_string(kernel) + " on " + std::to_string(gpu.compute_capability));
      EXPECT_GT(engines_for(forward_variants(spec, nullptr, nullptr), "sums", gpu), 0);
    }
  }
}

}  // namespace
}  // namespace brightnet::cuda
