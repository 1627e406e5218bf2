#include "layers/layer.h"

#include "layers/convolution.h"
#include "layers/full_precision.h"
#include "layers/resample.h"
#include "layers/route.h"
#include "layers/yolo.h"

namespace brightnet {
namespace {

std::unique_ptr<Layer> make(const ConvAttributes& conv, const LayerSetup& setup) {
  if (!conv.full_precision || setup.type == DType::f32) return std::make_unique<ConvolutionLayer>(setup);
  return std::make_unique<FullPrecisionLayer>(
      setup, std::make_unique<ConvolutionLayer>(FullPrecisionLayer::inner_setup(setup)));
}
std::unique_ptr<Layer> make(const MaxPoolAttributes&, const LayerSetup& setup) {
  return std::make_unique<MaxPoolLayer>(setup);
}
std::unique_ptr<Layer> make(const SppAttributes&, const LayerSetup& setup) {
  return std::make_unique<SppLayer>(setup);
}
std::unique_ptr<Layer> make(const ConcatAttributes&, const LayerSetup& setup) {
  return std::make_unique<ConcatLayer>(setup);
}
std::unique_ptr<Layer> make(const SplitAttributes&, const LayerSetup& setup) {
  return std::make_unique<SplitLayer>(setup);
}
std::unique_ptr<Layer> make(const ShortcutAttributes&, const LayerSetup& setup) {
  return std::make_unique<ShortcutLayer>(setup);
}
std::unique_ptr<Layer> make(const MultiplyAttributes&, const LayerSetup& setup) {
  return std::make_unique<MultiplyLayer>(setup);
}
std::unique_ptr<Layer> make(const SpaceToDepthAttributes&, const LayerSetup& setup) {
  return std::make_unique<SpaceToDepthLayer>(setup);
}
std::unique_ptr<Layer> make(const UpsampleAttributes&, const LayerSetup& setup) {
  return std::make_unique<UpsampleLayer>(setup);
}
std::unique_ptr<Layer> make(const YoloAttributes&, const LayerSetup& setup) {
  return std::make_unique<YoloLayer>(setup);
}

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerSetup& setup) {
  return std::visit([&](const auto& attributes) { return make(attributes, setup); },
                    setup.description.attributes);
}

}  // namespace brightnet
