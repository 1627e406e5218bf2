#include "train/inference.h"

namespace brightnet {

InferenceNetwork::InferenceNetwork(const std::filesystem::path& weights, Backend& backend,
                                   Precision precision, int batch, int size)
    : trained_(load_trained_model(weights)),
      layout_(trained_.model),
      values_(backend, layout_.floats() * sizeof(float)),
      parameters_{.layout = &layout_, .values = values_.floats()} {
  const std::vector<float> host = load_weights(weights, layout_);
  backend.upload(values_.data(), host.data(), values_.bytes());
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
