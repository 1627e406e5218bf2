// The engines of cuDNN that convolutions run on. Each pass of each shape has a list of engines that can do
// it: the frontend's heuristics name them, and those that need no more than the plan's workspace are run and
// timed, once, within the seconds that a run spends on it (kernels/cuda/timed_choice.h); the fastest is remembered
// (kernels/cuda/tune_cache.h), and made once for all convolutions that are alike.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/convolution.h"
#include "kernels/cuda/convolution_graph.h"
#include "kernels/cuda/in_place_sum.h"
#include "kernels/cuda/timed_choice.h"
#include "kernels/cuda/tune_cache.h"

namespace brightnet::cuda {

using EnginePointer = std::shared_ptr<const ConvolutionEngine>;

/// Memory of the arena that an engine may use while it runs.
struct EngineWorkspace {
  void* data = nullptr;
  size_t bytes = 0;
};

/// cuDNN, opened when the first convolution runs: making plans needs neither it nor a GPU.
class ConvolutionEngines {
 public:
  explicit ConvolutionEngines(CudnnOptions options) : options_(std::move(options)) {}
  ~ConvolutionEngines();
  ConvolutionEngines(const ConvolutionEngines&) = delete;
  ConvolutionEngines& operator=(const ConvolutionEngines&) = delete;

  const CudnnOptions& options() const { return options_; }
  bool is_reproducible() const { return options_.selection == EngineSelection::reproducible; }
  bool is_timed() const { return options_.selection == EngineSelection::fastest; }

  /// A pass that wants an engine.
  struct Pass {
    std::string name;  ///< tells kind, shape, type and workspace: passes of one name share an engine
    DType type = DType::f32;
    std::function<ConvolutionVariants()> variants;
  };
  /// Announces a pass for which choose() will be called, with this workspace.
  void expect(const Pass& pass, size_t workspace_bytes);
  /// The fastest engine for the pass: known, remembered, or measured now, which writes to the pass's output
  /// and waits for the device. No stream may be capturing a graph. The first call after expect() makes all engines that
  /// are expected and remembered, several at a time: some are compiled, for a second or so each.
  EnginePointer choose(const Pass& pass, const Pointers& pointers, EngineWorkspace workspace,
                       cudaStream_t stream);
  /// The engine that a LaunchList takes to be the fastest: the variant that fuses most, or the plain one.
  EnginePointer assumed(const Pass& pass) const;
  /// Queues the engine's work.
  void execute(const ConvolutionEngine& engine, const Pointers& pointers, EngineWorkspace workspace,
               cudaStream_t stream);

 private:
  void open(cudaStream_t stream);
  std::optional<std::string> try_execute(const ConvolutionEngine& engine, const Pointers& pointers,
                                         EngineWorkspace workspace, cudaStream_t stream) const;
  std::string plan_engines(const ConvolutionVariant& variant, DType type, size_t workspace_bytes,
                           cudnnHandle_t handle) const;
  std::string remembered(const Pass& pass) const;
  EnginePointer named(const Pass& pass, const std::string& name, size_t workspace_bytes,
                      cudnnHandle_t handle) const;
  void make_expected();
  EnginePointer measured(const Pass& pass, const Pointers& pointers, EngineWorkspace workspace,
                         cudaStream_t stream);
  std::vector<ConvolutionEngine> offered(const Pass& pass, size_t workspace_bytes,
                                         std::string& problems) const;
  struct Trial;
  float time(const ConvolutionEngine& engine, Trial& trial, float hopeless) const;
  InPlace accumulates(const ConvolutionEngine& engine, const Trial& trial) const;
  bool try_run(const ConvolutionEngine& engine, const Trial& trial) const;
  void report_timing(double least_seconds);

  CudnnOptions options_;
  cudnnHandle_t handle_ = nullptr;
  std::vector<cudnnHandle_t> makers_;  ///< handles of threads that made engines, which may refer to them
  std::unique_ptr<TuneCache> cache_;
  std::map<std::string, EnginePointer> chosen_;
  struct Expected {
    Pass pass;
    size_t workspace_bytes;
  };
  std::map<std::string, Expected> expected_;  ///< announced passes whose engines are not made yet, by name
  /// The timing that was not reported yet.
  struct Timing {
    double seconds = 0;
    int passes = 0, untimed = 0;
  } timing_;
  TimingBudget budget_{options_.timing_seconds};
};

}  // namespace brightnet::cuda
