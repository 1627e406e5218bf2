#include "train/loop/training_step.h"

namespace brightnet {
namespace {

/// Also with a single rank, whose arithmetic is then the same as that of several.
StatisticsExchange* shared_statistics(const TrainingSetup& setup) {
  return setup.config.train.sync_bn ? &setup.collectives : nullptr;
}

}  // namespace

GradientExchange::Options exchange_options(const TrainOptions& train) {
  GradientExchange::Options options;
  options.bucket_bytes = static_cast<size_t>(train.bucket_mb * (1 << 20));
  options.overlap = train.overlap;
  options.mean_statistics = !train.sync_bn;
  return options;
}

TrainingStep::TrainingStep(const TrainingSetup& setup, const ParameterLayout& layout,
                           const std::vector<float>& initial)
    : setup_(setup),
      layout_(layout),
      micro_batches_(batch_of_rank(setup.config.train, setup.communicator.size()) /
                     setup.config.train.micro_batch),
      values_(setup.backend, layout.floats() * sizeof(float)),
      gradients_(setup.backend, layout.trainable_floats() * sizeof(float)),
      trained_{.layout = &layout, .values = values_.floats(), .gradients = gradients_.floats()},
      averaged_{.layout = &layout},
      networks_(setup.config, setup.model, setup.backend, setup.config.train.micro_batch, trained_, averaged_,
                shared_statistics(setup)) {
  const RunConfig& config = setup.config;
  const int ranks = setup.communicator.size();
  BRIGHTNET_CHECK(initial.size() == layout.floats(), "parameters of another model");
  BRIGHTNET_CHECK(micro_batches_ * config.train.micro_batch * ranks == config.train.batch,
                  "the ranks' micro-batches do not make up the batch");
  setup.backend.upload(values_.data(), initial.data(), values_.bytes());
  // The gradients' norm includes the padding between them, which no pass writes.
  setup.backend.zero(gradients_.data(), gradients_.bytes());
  optimizer_ =
      std::make_unique<OptimizerStep>(config.optimizer, config.ema, config.train.precision, layout,
                                      setup.backend, values_.floats(), batch_of_rank(config.train, ranks));
  averaged_.values = optimizer_->average();
  arena_ = DeviceBuffer(setup.backend, networks_.arena_bytes());
  networks_.bind(arena_.data());
  if (!setup.communicator.alone())
    exchange_.emplace(setup.collectives, trained_, exchange_options(config.train));
  clock_ = setup.backend.make_work_clock();
}

void TrainingStep::pass(const Batch& batch, int part) {
  Network& network = networks_.training({batch.height, batch.width});
  network.set_batch(batch.pixels, batch.truths);
  network.assign_statically(static_assignment_);
  const GradientScale scale =
      optimizer_->gradient_scale(1.0f / static_cast<float>(setup_.config.train.batch));
  const bool accumulate = part > 0, last = part == micro_batches_ - 1;
  clock_->begin();
  if (exchange_ && last) {
    exchanged_pass(network, scale, accumulate);
  } else {
    network.forward_backward(scale, accumulate, optimizer_->losses());
  }
  clock_->end();
}

/// The last micro-batch: gradients are all-reduced as soon as they are final, between the parts of the recorded pass.
/// Sums of synchronized batch-norm are recorded in the parts; NCCL keeps both in the order in which they were queued.
void TrainingStep::exchanged_pass(Network& network, const GradientScale& scale, bool accumulate) {
  network.forward_backward(scale, accumulate, optimizer_->losses(),
                           {.forward_done = [this] { exchange_->forward_done(); },
                            .layers = exchange_->stops(),
                            .passed = [this](int layer) { exchange_->layer_done(layer); }});
}

void TrainingStep::update() {
  if (exchange_) exchange_->finish();
  clock_->begin();
  if (setup_.config.train.graph && updated_ && !recorded_update_)
    recorded_update_ = setup_.backend.record([this] { queue_optimizer(); });
  if (recorded_update_) {
    recorded_update_->replay();
  } else {
    queue_optimizer();
  }
  clock_->end();
  updated_ = true;
  ++trained_.version;
}

void TrainingStep::resume(const StepState& state) {
  optimizer_->resume(state);
  ++trained_.version;
}

Network& TrainingStep::averaged_network() {
  ++averaged_.version;
  return networks_.evaluation();
}

std::vector<float> TrainingStep::averaged_parameters() const {
  std::vector<float> host(layout_.floats());
  setup_.backend.download(host.data(), averaged_.values, host.size() * sizeof(float));
  return host;
}

void TrainingStep::set_averaged_parameters(const std::vector<float>& values) {
  BRIGHTNET_CHECK(values.size() == layout_.floats(), "parameters of another model");
  setup_.backend.upload(averaged_.values, values.data(), values.size() * sizeof(float));
  ++trained_.version;  // they are the same without an average
}

std::vector<StateArray> TrainingStep::state_arrays() const {
  std::vector<StateArray> arrays{{"values", values_.floats(), layout_.floats()}};
  optimizer_->append_state(arrays);
  return arrays;
}

RunMemory TrainingStep::memory() const {
  return plan_run_memory(setup_.config, layout_, networks_.arena_bytes());
}

}  // namespace brightnet
