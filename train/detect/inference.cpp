#include "train/detect/inference.h"

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
}

}  // namespace brightnet
