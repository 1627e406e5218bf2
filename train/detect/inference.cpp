#include "train/detect/inference.h"

namespace brightnet {

InferenceNetwork::InferenceNetwork(TrainedNetwork network, Backend& backend, Precision precision, int batch,
                                   int size)
    : trained_(std::move(network.trained)),
      layout_(std::move(network.layout)),
      values_(backend, layout_.floats() * sizeof(float)),
      parameters_{.layout = &layout_, .values = values_.floats()} {
  backend.upload(values_.data(), network.values.data(), values_.bytes());
  const int side = size > 0 ? size : trained_.size;
  network_ = std::make_unique<Network>(NetworkSetup{.model = &trained_.model,
                                                    .backend = &backend,
                                                    .parameters = &parameters_,
                                                    .batch = batch,
                                                    .height = side,
                                                    .width = side,
                                                    .precision = precision,
                                                    .mode = Mode::infer});
  arena_ = DeviceBuffer(backend, network_->memory().arena());
  network_->bind(arena_.data());
}

}  // namespace brightnet
