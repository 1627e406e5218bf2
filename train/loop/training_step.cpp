#include "train/loop/training_step.h"

namespace brightnet {
namespace {

/// A single rank has one too, so that its arithmetic is the same as that of several.
StatisticsExchange* shared_statistics(const StepSetup& setup) {
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

TrainingStep::TrainingStep(const StepSetup& setup, const std::vector<float>& initial)
    : setup_(setup),
      micro_batches_(batch_of_rank(setup.config.train, setup.ranks) / setup.config.train.micro_batch),
      values_(setup.backend, setup.layout.floats() * sizeof(float)),
      gradients_(setup.backend, setup.layout.trainable_floats() * sizeof(float)),
      trained_{.layout = &setup.layout, .values = values_.floats(), .gradients = gradients_.floats()},
      averaged_{.layout = &setup.layout},
      networks_(setup.config, setup.model, setup.backend, setup.config.train.micro_batch, trained_, averaged_,
                shared_statistics(setup), setup.evaluates) {
  const RunConfig& config = setup.config;
  BRIGHTNET_CHECK(initial.size() == setup.layout.floats(), "parameters of another model");
  BRIGHTNET_CHECK(micro_batches_ * config.train.micro_batch * setup.ranks == config.train.batch,
                  "the ranks' micro-batches do not make up the batch");
  setup.backend.upload(values_.data(), initial.data(), values_.bytes());
  // The gradients' norm includes the padding between them, which no pass writes.
  setup.backend.zero(gradients_.data(), gradients_.bytes());
  optimizer_ = std::make_unique<OptimizerStep>(config.optimizer, config.ema, config.train.precision,
                                               setup.layout, setup.backend, values_.floats(),
                                               batch_of_rank(config.train, setup.ranks));
  averaged_.values = optimizer_->average();
  arena_ = DeviceBuffer(setup.backend, networks_.arena_bytes());
  networks_.bind(arena_.data());
  if (const Distillation* distillation = config.distillation.get()) {
    teacher_ = DeviceBuffer(setup.backend, networks_.teacher_bytes());
    networks_.bind_teacher(teacher_.data());
    setup.backend.upload(teacher_.data(), distillation->teacher_values.data(),
                         distillation->teacher_values.size() * sizeof(float));
  }
  if (setup.ranks > 1) exchange_.emplace(setup.collectives, trained_, exchange_options(config.train));
}

WorkClock& TrainingStep::clock() {
  if (!clock_) clock_ = setup_.backend.make_work_clock();
  return *clock_;
}

GradientScale TrainingStep::gradient_scale() const {
  return optimizer_->gradient_scale(1.0f / setup_.config.train.batch);
}

void TrainingStep::pass(const Batch& batch, int part) {
  Network& network = networks_.training({batch.height, batch.width});
  batch.pixels ? network.set_batch(batch.pixels, batch.truths)
               : network.set_batch(batch.pictures, batch.truths);
  network.assign_statically(static_assignment_);
  const GradientScale scale = gradient_scale();
  const bool accumulate = part > 0, last = part == micro_batches_ - 1;
  clock().begin();
  networks_.teach(network);
  if (exchange_ && last) {
    exchanged_pass(network, scale, accumulate);
  } else {
    network.forward_backward(scale, accumulate, optimizer_->losses());
  }
  clock().end();
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
  clock().begin();
  if (setup_.config.train.graph && updated_ && !recorded_update_)
    recorded_update_ = setup_.backend.record([this] { queue_optimizer(); });
  if (recorded_update_) {
    recorded_update_->replay();
  } else {
    queue_optimizer();
  }
  clock().end();
  updated_ = true;
  ++trained_.version;
}

void TrainingStep::drop_recordings() {
  recorded_update_.reset();
  networks_.drop_recordings();
}

void TrainingStep::update_only() {
  queue_optimizer();
  ++trained_.version;
}

void TrainingStep::resume(const StepState& state) {
  optimizer_->resume(state);
  ++trained_.version;
}

Network& TrainingStep::averaged_network(const InputSize& size) {
  ++averaged_.version;
  Network& network = networks_.evaluation(size);
  network.assign_statically(static_assignment_);
  return network;
}

std::vector<float> TrainingStep::averaged_parameters() const {
  std::vector<float> host(setup_.layout.floats());
  setup_.backend.download(host.data(), averaged_.values, host.size() * sizeof(float));
  return host;
}

void TrainingStep::set_averaged_parameters(const std::vector<float>& values) {
  BRIGHTNET_CHECK(values.size() == setup_.layout.floats(), "parameters of another model");
  setup_.backend.upload(averaged_.values, values.data(), values.size() * sizeof(float));
  ++trained_.version;  // they are the same without an average
}

std::vector<StateArray> TrainingStep::state_arrays() const {
  std::vector<StateArray> arrays{{"values", values_.floats(), setup_.layout.floats()}};
  optimizer_->append_state(arrays);
  return arrays;
}

uint64_t TrainingStep::state_bytes() const {
  uint64_t bytes = 0;
  for (const StateArray& array : state_arrays()) bytes += array.count * sizeof(float);
  return bytes;
}

RunMemory TrainingStep::memory() const {
  return plan_run_memory(setup_.config, setup_.layout, networks_.arena_bytes(), networks_.teacher_bytes(),
                         decoder_bytes(setup_.config, setup_.backend));
}

}  // namespace brightnet
