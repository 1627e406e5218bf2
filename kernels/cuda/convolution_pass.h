// One pass of one convolution: which engine of cuDNN does it, and doing it.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/convolution_engine.h"

namespace brightnet::cuda {

class ConvolutionPass {
 public:
  enum class Kind : uint8_t { forward, backward_data, add_backward_data, backward_weights };

  ConvolutionPass(Kind kind, const ConvolutionSpec& spec, std::shared_ptr<ConvolutionEngines> engines,
                  cudaStream_t stream)
      : kind_(kind), spec_(spec), engines_(std::move(engines)), stream_(stream) {}

  /// Announces that choose() will be called, with so much workspace.
  void expect(size_t workspace_bytes) { engines_->expect(described(workspace_bytes), workspace_bytes); }
  /// The first time only: chooses the engine, which may time engines and writes to the pass's
  /// output: see ConvolutionEngines::choose().
  void choose(const Pointers& pointers, EngineWorkspace workspace);
  /// Queues the pass, after choose().
  void run(const Pointers& pointers, EngineWorkspace workspace);
  /// "plain:eng3_k2=1", or "not chosen yet".
  std::string engine() const { return engine_ ? engine_->name : "not chosen yet"; }
  bool chosen() const { return engine_ != nullptr; }
  /// Whether the engine also adds the gradient in addend_slot.
  bool adds() const { return engine_ && engine_->variant.name == "sum"; }
  /// Whether the engine also computes the sums for batch-norm.
  bool sums() const { return engine_ && engine_->variant.name == "sums"; }

 private:
  void run(const Pointers& pointers, EngineWorkspace workspace, LaunchList& list);
  ConvolutionEngines::Pass described(size_t workspace_bytes) const;
  std::string key(size_t workspace_bytes) const;
  ConvolutionVariants variants() const;

  const Kind kind_;
  const ConvolutionSpec& spec_;
  const std::shared_ptr<ConvolutionEngines> engines_;
  const cudaStream_t stream_;
  EnginePointer engine_;
};

}  // namespace brightnet::cuda
