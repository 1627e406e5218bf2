#include "layers/layer.h"

#include "layers/average_pool.h"
#include "layers/concat.h"
#include "layers/convolution.h"
#include "layers/max_pool.h"
#include "layers/multiply.h"
#include "layers/scale_channels.h"
#include "layers/shortcut.h"
#include "layers/space_to_depth.h"
#include "layers/spatial_pyramid.h"
#include "layers/split.h"
#include "layers/upsample.h"
#include "layers/weighted_sum.h"
#include "layers/yolo.h"

namespace brightnet {
namespace {

template <LayerKind Kind>
std::unique_ptr<Layer> make(const Kind& kind, const LayerSetup& setup) {
  return std::make_unique<typename Kind::Layer>(kind, setup);
}

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerSetup& setup) {
  return std::visit([&](const auto& kind) { return make(kind, setup); }, setup.description.attributes);
}

}  // namespace brightnet
