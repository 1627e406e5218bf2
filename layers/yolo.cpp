#include "layers/yolo.h"

namespace brightnet {

YoloLayer::YoloLayer(const LayerSetup& setup) : Layer(setup) {
  const auto& yolo = std::get<YoloAttributes>(setup.description.attributes);
  head_ = yolo.head;
  head_.input_width = setup.network_input.w;
  head_.input_height = setup.network_input.h;
  class_weights_ = yolo.class_weights;
}

MemoryNeeds YoloLayer::memory_needs() const {
  MemoryNeeds needs;
  if (setup().mode == Mode::infer) {
    needs.workspace = backend().yolo_detect_workspace(head_, output_shape());
    return needs;
  }
  needs.weights = 64 + class_weights_.size() * sizeof(float);
  needs.workspace = backend().yolo_workspace(head_, output_shape());
  return needs;
}

void YoloLayer::bind(const LayerMemory& memory) {
  loss_ = static_cast<YoloLoss*>(memory.weights);
  workspace_ = memory.workspace;
  if (setup().mode == Mode::infer || class_weights_.empty()) return;
  device_class_weights_ = reinterpret_cast<float*>(static_cast<std::byte*>(memory.weights) + 64);
  head_.class_weights = device_class_weights_;
  class_weights_uploaded_ = false;
}

void YoloLayer::prepare() {
  if (!device_class_weights_ || class_weights_uploaded_) return;
  class_weights_uploaded_ = true;
  backend().upload(device_class_weights_, class_weights_.data(), class_weights_.size() * sizeof(float));
}

void YoloLayer::backward(const LayerCall& call, bool) {
  BRIGHTNET_CHECK(!call.accumulate[0], "a head's predictions feed nothing else");
  backend().yolo_loss(head_, {.predictions = call.inputs[0],
                              .gradient = call.input_gradients[0],
                              .truths = truths_,
                              .scale = scale_,
                              .loss = loss_,
                              .totals = totals_,
                              .workspace = workspace_});
}

}  // namespace brightnet
