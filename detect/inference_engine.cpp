#include "detect/inference_engine.h"

#include <cstdint>

#include "core/error.h"

namespace brightnet {

std::vector<std::vector<Detection>> NetworkEngine::candidates(const void* inputs, const InputFit& fit,
                                                              float score) {
  BRIGHTNET_CHECK(of_size_ || fit.size == size(), "images are fitted to another input size");
  Network& network = of_size_ ? of_size_(fit.size) : whole_;
  if (as_darknet(fit.resize)) {
    network.set_values(static_cast<const float*>(inputs));
  } else {
    network.set_pixels(static_cast<const uint8_t*>(inputs));
  }
  network.infer();
  last_ = &network;
  return network.detections(score);
}

std::vector<YoloLoss> NetworkEngine::losses(const std::vector<std::vector<Truth>>& truths) {
  return last_->loss(truths);
}

}  // namespace brightnet
