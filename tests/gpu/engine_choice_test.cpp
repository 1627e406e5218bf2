// Engines of cuDNN that are chosen by time, as in training without train.deterministic: the choice computes what
// the recommended one does, is written to the user's cache, and is taken from there by the next run.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/progress.h"
#include "kernels/cuda/installation.h"
#include "layers/parameters.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

ConvolutionSpec spec_in(DType type) {
  ConvolutionSpec spec;
  spec.input = {8, 38, 38, 64};
  spec.output = {8, 38, 38, 128};
  spec.kernel = 3;
  spec.padding = 1;
  spec.type = type;
  spec.statistics = true;
  return spec;
}

/// What a convolution computes, and on which engines.
struct Computed {
  std::string engines;
  std::vector<double> y, dx, dw;
};

/// Tensors to choose on, whose contents do not matter.
struct Trial {
  explicit Trial(const ConvolutionSpec& spec)
      : x(spec.input, spec.type),
        y(spec.output, spec.type),
        dy(spec.output, spec.type),
        dx(spec.input, spec.type) {}
  ConvolutionTensors tensors() const { return {.x = *x, .y = *y, .dy = *dy, .dx = *dx, .backward_x = *x}; }

  OwnedTensor x, y, dy, dx;
};

/// With all the workspace that it can use, or no more than it needs.
Computed compute_on(Backend& backend, const ConvolutionSpec& spec, bool extended) {
  const auto convolution = backend.plan_convolution(spec);
  const DeviceBuffer weights(backend, convolution->weight_bytes() + 1),
      workspace(backend, convolution->most_workspace_bytes() + 1);
  const Shape flat{1, 1, 1, static_cast<int>(spec.weight_count())};
  OwnedTensor x(spec.input, spec.type), y(spec.output, spec.type), dy(spec.output, spec.type),
      dx(spec.input, spec.type), w(flat), dw(flat);
  x.randomize(1);
  dy.randomize(2);
  w.randomize(3, 0.1f);
  // They are uploaded in the stream of the suite's backend, and used in that of this one.
  const Tensor input = *x, output = *y, gradient = *dy, input_gradient = *dx;
  const float* masters = w.floats();
  float* weight_gradient = dw.floats();
  device().synchronize();
  convolution->bind(weights.data(), workspace.data());
  if (extended) convolution->extend_workspace(convolution->most_workspace_bytes());
  convolution->prepare(masters);
  const Trial trial(spec);
  const ConvolutionTensors tensors = trial.tensors();
  device().synchronize();
  convolution->expect(tensors);
  convolution->choose(tensors);
  convolution->forward(input, nullptr, output);
  convolution->backward_data(gradient, input_gradient);
  convolution->backward_weights(input, gradient, weight_gradient, false);
  backend.synchronize();
  return {convolution->description(), y.values(), dx.values(), dw.values()};
}

class CudaEngineChoice : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    if (const char* before = std::getenv("XDG_CACHE_HOME")) kept_ = before;
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    kept_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", kept_.c_str(), 1);
  }
  static std::unique_ptr<Backend> timing_backend() { return cuda::make_backend({}); }
  /// The one file of the cache.
  fs::path file() const {
    for (const auto& entry : fs::directory_iterator(folder_ / "brightnet")) return entry.path();
    ADD_FAILURE() << "no choice was written";
    return {};
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "CudaEngineChoice";
  std::string kept_;
};

TEST_F(CudaEngineChoice, WhatIsTimedIsRememberedAndTakenByTheNextRun) {
  for (const DType type : compute_types()) {
    SCOPED_TRACE(enum_name(type));
    const ConvolutionSpec spec = spec_in(type);
    const Computed expected = compute_on(device(), spec, false);
    const uint64_t before = progress_count();
    const Computed timed = compute_on(*timing_backend(), spec, true);
    EXPECT_GE(progress_count(), before + 6)
        << "three passes, each chosen among engines: ranks that wait must see it";
    EXPECT_LT(relative_error(timed.y, expected.y), 1e-5 + 2 * rounding(type)) << timed.engines;
    EXPECT_LT(relative_error(timed.dx, expected.dx), 1e-5 + 2 * rounding(type)) << timed.engines;
    EXPECT_LT(relative_error(timed.dw, expected.dw), 1e-4 + 4 * rounding(type)) << timed.engines;

    const std::string written = read_file(file());
    EXPECT_EQ(compute_on(*timing_backend(), spec, true).engines, timed.engines);
    EXPECT_EQ(read_file(file()), written) << "nothing was timed again";
    // With less workspace it is another choice.
    compute_on(*timing_backend(), spec, false);
  }
}

TEST_F(CudaEngineChoice, TheFileIsObeyedUnlessItNamesAnEngineThatThereIsNot) {
  const ConvolutionSpec spec = spec_in(DType::f32);
  const Computed timed = compute_on(*timing_backend(), spec, true);
  const std::string written = read_file(file());
  // "cuDNN FORWARD, BACKWARD DATA, BACKWARD WEIGHTS": the heuristics' first for the forward pass.
  const std::string engines = compute_on(device(), spec, true).engines;
  const std::string first = engines.substr(6, engines.find(',') - 6);
  const auto with_forward = [&](const std::string& engine) {
    const size_t line = written.find("\nforward ") + 1, tab = written.find('\t', line);
    return written.substr(0, tab + 1) + engine + written.substr(written.find('\n', tab));
  };
  const auto write = [&](const std::string& text) { std::ofstream(file(), std::ios::binary) << text; };
  write(with_forward(first));
  EXPECT_EQ(compute_on(*timing_backend(), spec, true).engines.substr(6, first.size()), first);
  write(with_forward("plain:eng999"));
  EXPECT_EQ(compute_on(*timing_backend(), spec, true).engines.find("eng999"), std::string::npos);
  EXPECT_EQ(read_file(file()).find("eng999"), std::string::npos) << "the new choice replaces it";
}

// By several threads, each with a handle of its own; they run in the backend's.
TEST_F(CudaEngineChoice, RememberedEnginesOfManyConvolutionsAreMadeTogether) {
  std::vector<ConvolutionSpec> specs;
  for (const DType type : compute_types()) {
    for (const int outputs : {32, 64, 128, 256}) {
      specs.push_back(spec_in(type));
      specs.back().output.c = outputs;
    }
  }
  const auto engines = [&] {
    const auto backend = timing_backend();
    std::vector<std::unique_ptr<Convolution>> convolutions;
    std::vector<DeviceBuffer> memory;
    std::vector<std::unique_ptr<OwnedTensor>> masters;
    std::vector<Trial> trials;
    for (const ConvolutionSpec& spec : specs) {
      convolutions.push_back(backend->plan_convolution(spec));
      Convolution& convolution = *convolutions.back();
      masters.push_back(std::make_unique<OwnedTensor>(Shape{1, 1, 1, static_cast<int>(spec.weight_count())}));
      masters.back()->randomize(3, 0.1f);
      trials.emplace_back(spec);
      memory.emplace_back(*backend, convolution.weight_bytes() + 1);
      void* weights = memory.back().data();
      memory.emplace_back(*backend, convolution.most_workspace_bytes() + 1);
      convolution.bind(weights, memory.back().data());
      convolution.extend_workspace(convolution.most_workspace_bytes());
      convolution.prepare(masters.back()->floats());
    }
    std::vector<ConvolutionTensors> tensors;
    for (const Trial& trial : trials) tensors.push_back(trial.tensors());
    device().synchronize();
    for (size_t i = 0; i < specs.size(); ++i) convolutions[i]->expect(tensors[i]);
    for (size_t i = 0; i < specs.size(); ++i) convolutions[i]->choose(tensors[i]);
    std::vector<std::string> all;
    for (size_t i = 0; i < specs.size(); ++i) {
      convolutions[i]->forward(tensors[i].x, nullptr, tensors[i].y);
      convolutions[i]->backward_data(tensors[i].dy, tensors[i].dx);
      all.push_back(convolutions[i]->description());
    }
    backend->synchronize();
    return all;
  };
  const std::vector<std::string> timed = engines();
  const std::string written = read_file(file());
  EXPECT_EQ(engines(), timed);
  EXPECT_EQ(read_file(file()), written) << "nothing was timed again";
}

// Engines that add write over their addend, timed and in a step; cuDNN gives no guarantee for that. Large enough for
// them to be considered.
TEST_F(CudaEngineChoice, WhatAddsInPlaceAddsRight) {
  for (const DType type : compute_types()) {
    for (const int kernel : {1, 3}) {
      ConvolutionSpec spec = spec_in(type);
      spec.input = {16, 130, 130, 128};
      spec.output = {16, 130, 130, 64};
      spec.kernel = kernel;
      spec.padding = kernel / 2;
      OwnedTensor dy(spec.output, type), dx(spec.input, type), part(spec.input, type),
          alone(spec.input, type);
      OwnedTensor w({1, 1, 1, static_cast<int>(spec.weight_count())});
      dy.randomize(1);
      dx.randomize(2);
      w.randomize(3, 0.1f);
      const std::vector<double> before = dx.values();
      const auto add_on = [&](Backend& backend) {
        const auto convolution = backend.plan_convolution(spec);
        const DeviceBuffer weights(backend, convolution->weight_bytes() + 1),
            workspace(backend, convolution->most_workspace_bytes() + 1);
        dx.set(before);
        const Tensor gradient = *dy, sum = *dx, room = *part, product = *alone;
        const float* masters = w.floats();
        device().synchronize();
        convolution->bind(weights.data(), workspace.data());
        convolution->extend_workspace(convolution->most_workspace_bytes());
        convolution->prepare(masters);
        convolution->backward_data(gradient, product);
        convolution->add_backward_data(gradient, sum, room);
        backend.synchronize();
        return convolution->description();
      };
      for (const char* run : {"timed", "remembered"}) {
        const std::string engines = add_on(*timing_backend());
        std::vector<double> expected = before;
        const std::vector<double> gradient = alone.values();
        for (size_t i = 0; i < expected.size(); ++i) expected[i] += gradient[i];
        EXPECT_LT(relative_error(dx.values(), expected), 1e-5 + 2 * rounding(type))
            << run << ' ' << engines << ' ' << kernel << ' ' << enum_name(type);
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
