// One optimizer step on the device: forward and backward passes of the micro-batches, the gradient's
// all-reduce over the ranks, and the optimizer. Owns all device memory of a run.
//
//   for (int part = 0; part < step.micro_batches(); ++part) step.pass(batch, part);
//   step.update();
//
// None of this waits for the device; a step's outcome is read later (OptimizerStep::observe).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/loader/loader.h"
#include "train/distributed/communicator.h"
#include "train/distributed/gradient_exchange.h"
#include "train/loop/device_memory.h"
#include "train/optimizer/optimizer_step.h"

namespace brightnet {

/// How the ranks exchange their gradients: `train.bucket_mb` in MiB, `overlap`, and the batch statistics' means unless
/// `sync_bn` makes them one.
GradientExchange::Options exchange_options(const TrainOptions& train);

/// Everything outlives the step. train.micro_batch is resolved to a number, and train.batch is a multiple of it times
/// the number of ranks.
struct StepSetup {
  const RunConfig& config;
  const Model& model;
  const ParameterLayout& layout;  ///< layout of trained_model()
  Backend& backend;
  int ranks = 1;
  /// Exchanges tensors in the backend's memory.
  DeviceCollectives& collectives = Communicator::solo().host_collectives();
  /// Whether there is a network for evaluations: of a run, but not of a measured step.
  bool evaluates = true;
};

class TrainingStep {
 public:
  /// Allocates all of the run's device memory, exactly what plan_run() says; steps allocate none. `initial`
  /// are the parameters to start from, in the layout's order.
  TrainingStep(const StepSetup& setup, const std::vector<float>& initial);
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// Micro-batches per step on this rank.
  int micro_batches() const { return micro_batches_; }
  /// Sets whether `simota` takes all its candidates from here on (train.static_assignment).
  void assign_statically(bool yes) { static_assignment_ = yes; }
  /// Forward and backward pass of the step's micro-batch number `part`. Its pixels must stay valid
  /// until Backend::finish_uploads().
  void pass(const Batch& batch, int part);
  /// Ends a step after its last micro-batch: all-reduces the gradient and steps the optimizer.
  void update();

  // The parts of a step on one rank, for who measures them: this network's passes, and the update alone.

  /// The training network of this input size, bound to the arena.
  Network& network(const InputSize& size) { return networks_.training(size); }
  /// The scale of a micro-batch's gradients, as pass() applies it.
  GradientScale gradient_scale() const;
  /// Steps the optimizer alone, neither recorded nor timed.
  void update_only();

  /// Releases what was recorded of the step, whose sums over ranks may be part of it: NCCL ends no communicator that a
  /// recording refers to.
  void drop_recordings();

  OptimizerStep& optimizer() { return *optimizer_; }
  const OptimizerStep& optimizer() const { return *optimizer_; }
  /// Resumes from this state and the current contents of state_arrays().
  void resume(const StepState& state);

  /// The evaluation network for a size that the run evaluates at, with the current averaged parameters. Its losses are
  /// by the assignment of the last step.
  Network& averaged_network(const InputSize& size);
  std::vector<float> averaged_parameters() const;
  /// Replaces the averaged parameters, for an evaluation of others; without an average, the run's own.
  void set_averaged_parameters(const std::vector<float>& values);
  /// The arrays to save for resuming.
  std::vector<StateArray> state_arrays() const;
  /// The size of these arrays.
  uint64_t state_bytes() const;

  /// Seconds that the device was busy with steps.
  double busy_seconds() const { return clock_ ? clock_->seconds() : 0; }
  RunMemory memory() const;

 private:
  void exchanged_pass(Network& network, const GradientScale& scale, bool accumulate);
  void queue_optimizer() { optimizer_->step(gradients_.floats()); }

  WorkClock& clock();

  StepSetup setup_;
  int micro_batches_;
  bool static_assignment_ = false;

  DeviceBuffer values_, gradients_, arena_, teacher_;
  Parameters trained_, averaged_;
  RunNetworks networks_;
  std::unique_ptr<OptimizerStep> optimizer_;
  /// There is one only with several ranks.
  std::optional<GradientExchange> exchange_;

  /// The optimizer's step, recorded when it runs for the second time.
  std::unique_ptr<Recording> recorded_update_;
  bool updated_ = false;
  /// Made for the first pass: a device that only lists its work has none.
  std::unique_ptr<WorkClock> clock_;
};

}  // namespace brightnet
