#include "layers/yolo.h"

#include <algorithm>

#include "core/alignment.h"

namespace brightnet {

YoloLayer::YoloLayer(const YoloAttributes& yolo, const LayerSetup& setup)
    : Layer(setup), head_(yolo.head), class_weights_(yolo.class_weights) {
  head_.input_width = setup.network_input.w;
  head_.input_height = setup.network_input.h;
  // The loss writes the gradient of the predictions, to which only layers before this one can add.
  if (!setup.adds_input_gradient) return;
  throw InputError("a layer after '" + setup.description.name +
                       "' reads its predictions too, and cannot be trained with it",
                   setup.description.where,
                   "Put the yolo layer after it; a second yolo layer needs a convolution of its own.");
}

size_t YoloLayer::loss_workspace() const {
  return aligned(backend().yolo_workspace(head_, output_shape()));
}

size_t YoloLayer::image_bytes() const {
  const Shape& all = output_shape();
  return all.pixels() / all.n * (all.c + setup().zero_outputs) * size_of(setup().type);
}

// In inference the workspace also holds the gradient, which nobody reads.
void YoloLayer::memory(MemoryList& list) {
  const bool training = setup().mode == Mode::train;
  size_t workspace = training ? 0 : backend().yolo_detect_workspace(head_, output_shape());
  if (computes_loss()) {
    const auto images = static_cast<size_t>(training ? 1 : output_shape().n);
    list.weights(loss_, images * sizeof(YoloLoss));
    if (!class_weights_.empty()) list.weights(device_class_weights_, class_weights_.size() * sizeof(float));
    workspace = std::max(workspace, loss_workspace() + (training ? 0 : image_bytes()));
  }
  list.workspace(workspace_, workspace);
  head_.class_weights = device_class_weights_;
}

void YoloLayer::prepare() {
  if (!device_class_weights_ || class_weights_uploaded_) return;
  class_weights_uploaded_ = true;
  backend().upload(device_class_weights_, class_weights_.data(), class_weights_.size() * sizeof(float));
}

void YoloLayer::backward(const LayerCall&, bool) {
  BRIGHTNET_CHECK(false, "the gradient of a head comes from loss()");
}

YoloHead YoloLayer::loss_head(bool static_assignment) const {
  YoloHead head = head_;
  if (static_assignment) head.assignment = static_form(head.assignment);
  return head;
}

void YoloLayer::loss(const LayerCall& call, const TruthList& truths, const GradientScale& scale,
                     LossTotals* totals, bool static_assignment) {
  BRIGHTNET_CHECK(!call.accumulate[0], "a head's predictions feed nothing else");
  backend().yolo_loss(loss_head(static_assignment), {.predictions = call.inputs[0],
                                                     .gradient = call.input_gradients[0],
                                                     .truths = truths,
                                                     .scale = scale,
                                                     .loss = loss_,
                                                     .totals = totals,
                                                     .workspace = workspace_});
}

// Image by image, so that the loss of an image does not depend on the others of its batch.
std::vector<YoloLoss> YoloLayer::loss_of_inference(const Tensor& predictions, int images,
                                                   const TruthList& truths, bool static_assignment) {
  Tensor one = predictions;
  one.shape.n = 1;
  Tensor gradient = one;
  gradient.data = static_cast<std::byte*>(workspace_) + loss_workspace();
  const YoloHead head = loss_head(static_assignment);
  for (int image = 0; image < images; ++image) {
    one.data = static_cast<std::byte*>(predictions.data) + image * image_bytes();
    backend().yolo_loss(head, {.predictions = one,
                               .gradient = gradient,
                               .truths = {truths.truths, truths.offsets + image},
                               .scale = {},
                               .loss = loss_ + image,
                               .totals = nullptr,
                               .workspace = workspace_});
  }
  std::vector<YoloLoss> losses(static_cast<size_t>(images));
  if (images > 0) backend().download(losses.data(), loss_, losses.size() * sizeof(YoloLoss));
  return losses;
}

YoloLoss YoloLayer::last_loss() const {
  YoloLoss loss;
  backend().download(&loss, loss_, sizeof loss);
  return loss;
}

void YoloLayer::detect(const Tensor& predictions, float threshold,
                       std::vector<std::vector<Detection>>& found) const {
  backend().yolo_detect(head_, predictions, threshold, found, workspace_);
}

std::unique_ptr<Layer> YoloAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<YoloLayer>(*this, setup);
}

}  // namespace brightnet
