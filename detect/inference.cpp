#include "detect/inference.h"

#include <fmt/format.h>

#include "core/log.h"
#include "detect/views.h"
#include "kernels/memory_need.h"

namespace brightnet {
namespace {

/// Batches that the loaders of images hold together: the one that the network looks at and those ahead.
constexpr size_t batches_loaded = 3;

}  // namespace

InferenceNetwork::InferenceNetwork(TrainedModel trained, Backend& backend, const InferenceSetup& setup)
    : trained_(std::move(trained)), parameters_{.layout = &trained_.layout} {
  const InputSize& input = setup.size.given() ? setup.size : trained_.size;
  network_ = std::make_unique<Network>(NetworkSetup{.model = &trained_.model,
                                                    .backend = &backend,
                                                    .parameters = &parameters_,
                                                    .batch = setup.batch,
                                                    .height = input.height,
                                                    .width = input.width,
                                                    .precision = setup.precision,
                                                    .mode = Mode::infer,
                                                    .loss_of_inference = setup.with_loss,
                                                    .observer = setup.observer});
  const size_t values = trained_.layout.floats() * sizeof(float);
  require_memory_of(*network_, values);
  values_ = DeviceBuffer(backend, values);
  parameters_.values = values_.floats();
  backend.upload(values_.data(), trained_.values.data(), values);
  trained_.values = {};
  arena_ = DeviceBuffer(backend, network_->memory().arena());
  network_->bind(arena_.data());
  bound_ = network_.get();
  engine_ = std::make_unique<NetworkEngine>(
      *network_, [this](const InputSize& own) -> Network& { return InferenceNetwork::network(own); });
}

/// Before anything is allocated for a network: its plan, `values` bytes of parameters, and the batches that are loaded
/// ahead, which darknet's resize makes of floats.
void InferenceNetwork::require_memory_of(const Network& network, size_t values) const {
  const NetworkSetup& setup = network.setup();
  const size_t value = as_darknet(trained_.resize) ? sizeof(float) : 1;
  const auto pixels = setup.size().pixels() * static_cast<size_t>(setup.model->channels);
  const MemoryNeed need{network.memory().arena() + values, batches_loaded * setup.batch * pixels * value};
  require_memory(fmt::format("'{}' with a batch of {} at {} pixels in {}", setup.model->name, setup.batch,
                             setup.size().text(), enum_name(setup.precision)),
                 need, *setup.backend,
                 [] { return "Give a smaller --batch or --size, or --precision bf16."; });
}

/// `option` asks for them.
void InferenceNetwork::refuse_other_sizes(const char* option) const {
  if (network_) return;
  throw InputError("an exported network takes inputs of one size, " + size().described(), option,
                   "Leave it out, or give the .safetensors.");
}

void InferenceNetwork::begin_rect() {
  refuse_other_sizes("--rect");
  if (as_darknet(trained_.resize)) {
    throw InputError(
        "darknet has no rectangular batches, and the images are resized as darknet does", "--rect",
        "Leave --rect out for darknet's detections; `detect` resizes as brightnet does with --resize antialiased.");
  }
  if (!trained_.letterbox) {
    log::info("The network was trained on stretched images; rectangular batches letterbox them.");
    trained_.letterbox = true;
  }
}

std::vector<InferenceView> InferenceNetwork::views() const {
  refuse_other_sizes("--augment");
  return augmented_views(size(), engine_->stride());
}

Network& InferenceNetwork::network(const InputSize& size) {
  Network* wanted = network_.get();
  if (size != network_->setup().size()) {
    std::unique_ptr<Network>& other = others_[size];
    if (!other) {
      NetworkSetup setup = network_->setup();
      setup.height = size.height;
      setup.width = size.width;
      other = std::make_unique<Network>(setup);
    }
    wanted = other.get();
  }
  // Asked of every network: after a failure there is no memory, and the caller may go on with another size.
  if (wanted->memory().arena() > arena_.bytes()) {
    bound_ = nullptr;
    arena_ = DeviceBuffer();
    require_memory_of(*wanted, 0);
    arena_ = DeviceBuffer(*wanted->setup().backend, wanted->memory().arena());
  }
  if (bound_ != wanted) wanted->bind(arena_.data());
  bound_ = wanted;
  return *wanted;
}

void say_scales_are_not_used(const TrainedModel& trained, Precision precision) {
  if (trained.model.quantization.empty() || precision == Precision::int8) return;
  log::info(
      "These weights have the scales of int8, and are computed in {}; --precision int8, on the CPU, rounds by them.",
      enum_name(precision));
}

}  // namespace brightnet
