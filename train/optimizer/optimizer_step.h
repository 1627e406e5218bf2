// One step of a run's optimizer: the gradient's norm is clipped, a step whose gradient is not finite is
// skipped with everything it touched restored, and under loss scaling the scale follows. All of it is decided
// on the device (kernels/math/loss_scaler.h); the host reads the result later and waits for nothing.
#pragma once

#include <memory>
#include <vector>

#include "core/dtype.h"
#include "train/optimizer/ema.h"
#include "train/optimizer/optimizer.h"

namespace brightnet {

/// Whether a run in this precision scales its loss, clips, averages, …: the policy by which the device decides. `images`
/// are one step's on this device.
StepPolicy step_policy(const OptimizerOptions& options, const EmaOptions& ema, Precision precision,
                       int images);

class OptimizerStep {
 public:
  /// `values` are the parameters that it steps over, running statistics included, as the run begins with
  /// them. `images` are those of a step on this rank.
  OptimizerStep(const OptimizerOptions& options, const EmaOptions& ema, Precision precision,
                const ParameterLayout& layout, Backend& backend, float* values, int images);

  /// What Network::backward takes: `constant` and the loss scale, and where a step's losses go.
  GradientScale gradient_scale(float constant) const { return {constant, &device_state()->loss_scale}; }
  LossTotals* losses() const { return &device_state()->pending; }

  /// The next step's learning rate. Not part of a captured graph, which step() may be.
  void set_rate(float rate);
  /// Queues the step: `gradients` are complete, and the statistics are the same on all ranks.
  void step(const float* gradients);
  /// Queues a copy of the step's outcome, and returns the newest that can be had without waiting for it: on
  /// the CPU this step's, on a GPU that of the one before (nullptr after the first). Throws InputError, with
  /// what to change, after `max_skips` skipped steps in a row.
  const StepState* observe();

  /// As it is after everything queued so far (this waits).
  StepState state() const;
  /// Resumes from this state and the current parameters.
  void resume(const StepState& state);
  /// An epoch's sums begin anew.
  void clear_sums();

  /// The averaged parameters in the device's memory, or the parameters where none are kept.
  float* average() const { return optimizer_->average() ? optimizer_->average() : values_; }
  void append_state(std::vector<StateArray>& state) const { optimizer_->append_state(state); }
  bool scales_loss() const { return policy_.scales_loss; }

  /// Bytes of device memory beside the optimizer's: state and workspace, and the statistics' copy.
  static size_t control_bytes();
  static size_t statistics_bytes(const ParameterLayout& layout);

 private:
  StepState* device_state() const { return static_cast<StepState*>(control_.data()); }
  [[noreturn]] void stop(const StepState& seen) const;

  Backend& backend_;
  const ParameterLayout& layout_;
  float* values_;
  StepPolicy policy_;
  int max_skips_;
  DeviceBuffer control_, kept_statistics_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Readback> readback_;
};

}  // namespace brightnet
