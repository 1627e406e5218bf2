#include "train/detect/inference.h"

#include "core/log.h"

namespace brightnet {

InferenceNetwork::InferenceNetwork(TrainedModel trained, Backend& backend, Precision precision, int batch,
                                   const InputSize& size, bool loss)
    : trained_(std::move(trained)),
      values_(backend, trained_.layout.floats() * sizeof(float)),
      parameters_{.layout = &trained_.layout, .values = values_.floats()} {
  backend.upload(values_.data(), trained_.values.data(), values_.bytes());
  trained_.values = {};
  const InputSize& input = size.given() ? size : trained_.size;
  network_ = std::make_unique<Network>(NetworkSetup{.model = &trained_.model,
                                                    .backend = &backend,
                                                    .parameters = &parameters_,
                                                    .batch = batch,
                                                    .height = input.height,
                                                    .width = input.width,
                                                    .precision = precision,
                                                    .mode = Mode::infer,
                                                    .loss_of_inference = loss});
  arena_ = DeviceBuffer(backend, network_->memory().arena());
  network_->bind(arena_.data());
  bound_ = network_.get();
}

void InferenceNetwork::begin_rect() {
  if (trained_.resize == Resize::darknet) {
    throw InputError("darknet has no rectangular batches, and the images are resized as darknet does", "--rect",
                     "Leave --rect out for darknet's detections, or resize as in training: --resize antialiased.");
  }
  if (!trained_.letterbox) {
    spdlog::info("The network was trained on stretched images; rectangular batches letterbox them.");
    trained_.letterbox = true;
  }
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
      if (other->memory().arena() > arena_.bytes()) {
        arena_ = DeviceBuffer(*setup.backend, other->memory().arena());
        bound_ = nullptr;
      }
    }
    wanted = other.get();
  }
  if (bound_ != wanted) wanted->bind(arena_.data());
  bound_ = wanted;
  return *wanted;
}

}  // namespace brightnet
