// One optimizer step: clips the gradient's norm, skips a step whose gradient is not finite (and restores the
// running statistics), and adapts the loss scale. All of it is decided on the device
// (kernels/math/loss_scaler.h); the host reads the result later, without waiting.
#pragma once

#include <memory>
#include <vector>

#include "core/dtype.h"
#include "train/optimizer/optimizer.h"

namespace brightnet {

class OptimizerStep {
 public:
  /// `values` are the parameters to update, running statistics included, with their initial values. `images`
  /// is the number per step on this rank.
  OptimizerStep(const OptimizerOptions& options, const EmaOptions& ema, Precision precision,
                const ParameterLayout& layout, Backend& backend, float* values, int images);

  /// Arguments of Network::backward: `constant` times the loss scale, and where a step's losses are summed.
  GradientScale gradient_scale(float constant) const { return {constant, &device_state()->loss_scale}; }
  LossTotals* losses() const { return &device_state()->pending; }

  /// Sets the next step's learning rate, and the share of it that pretrained parameters have. Not captured into a
  /// graph, unlike step().
  void set_rate(float rate, float pretrained_share = 1);
  /// Queues the step. `gradients` are complete, and the running statistics are the same on all ranks.
  void step(const float* gradients);
  /// Queues a copy of the step's outcome, and returns the newest one available without waiting: on the CPU
  /// this step's, on a GPU the previous step's (nullptr after the first). Throws InputError, with a remedy,
  /// after `max_skips` consecutive skipped steps.
  const StepState* observe();

  /// The state after everything queued so far (blocks).
  StepState state() const;
  /// Resumes from this state and the current parameters.
  void resume(const StepState& state);
  /// Resets the epoch's sums.
  void clear_sums();

  /// The averaged parameters in device memory; the parameters themselves when there is no average.
  float* average() const { return optimizer_.average() ? optimizer_.average() : values_; }
  void append_state(std::vector<StateArray>& state) const { optimizer_.append_state(state); }
  bool scales_loss() const { return policy_.scales_loss; }

  /// Bytes of device memory besides the optimizer's: state and workspace, and a copy of the statistics.
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
  Optimizer optimizer_;
  std::unique_ptr<Readback> readback_;
};

}  // namespace brightnet
