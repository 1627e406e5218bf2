// One optimizer step on the device: the micro-batches through the network and back, the gradient's sum over
// the ranks, and the optimizer. All device memory of a run is here.
//
//   for (int part = 0; part < step.micro_batches(); ++part) step.pass(batch, part);
//   step.update();
//
// None of this waits for the device; what came of a step is read later (OptimizerStep::observe).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/loader/loader.h"
#include "train/distributed/gradient_exchange.h"
#include "train/loop/memory.h"
#include "train/loop/training_setup.h"
#include "train/optimizer/optimizer_step.h"

namespace brightnet {

class TrainingStep {
 public:
  /// Takes all of the run's device memory, exactly what plan_run() says; steps take none. `initial` are the
  /// parameters to start from, in the layout's order. `setup` and `layout` outlive this object.
  TrainingStep(const TrainingSetup& setup, const ParameterLayout& layout, const std::vector<float>& initial);
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// How many of them this rank passes in a step.
  int micro_batches() const { return micro_batches_; }
  /// A micro-batch, of which this is the step's `part`-th, through the network and back. Its pixels stay
  /// where they are until Backend::finish_uploads().
  void pass(const Batch& batch, int part);
  /// After the last micro-batch: the gradient's sum over the ranks, and the optimizer's step.
  void update();

  OptimizerStep& optimizer() { return *optimizer_; }
  const OptimizerStep& optimizer() const { return *optimizer_; }
  /// Goes on from this state, with the arrays of state_arrays() as they now are.
  void resume(const StepState& state);

  /// The network with the averaged parameters as they now are.
  Network& averaged_network();
  std::vector<float> averaged_parameters() const;
  /// What a resumed run needs back.
  std::vector<StateArray> state_arrays() const;

  /// Seconds that the device has worked on steps.
  double busy_seconds() const { return clock_->seconds(); }
  RunMemory memory() const;

 private:
  void queue_optimizer() { optimizer_->step(gradients_.floats()); }

  const TrainingSetup& setup_;
  const ParameterLayout& layout_;
  int micro_batches_;

  DeviceBuffer values_, gradients_, arena_;
  Parameters trained_, averaged_;
  RunNetworks networks_;
  std::unique_ptr<OptimizerStep> optimizer_;
  /// Where there are other ranks.
  std::optional<GradientExchange> exchange_;

  /// The optimizer's step, which is recorded the second time.
  std::unique_ptr<Recording> recorded_update_;
  bool updated_ = false;
  std::unique_ptr<WorkClock> clock_;
};

}  // namespace brightnet
