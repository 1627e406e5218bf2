// darknet writes spatial pyramid pooling as max-pools and routes; here it becomes a single layer.
#include <limits>
#include <optional>

#include "formats/darknet/layers.h"

namespace brightnet {
namespace {

/// The spp layer that a concat is equivalent to, if any: it joins max-pools of one map with stride 1 and odd
/// windows, the largest first, which no other layer reads, and the map itself.
std::optional<SppAttributes> spp_of(const std::vector<LayerDescription>& layers,
                                    const std::vector<int>& readers, const LayerDescription& concat) {
  if (!std::holds_alternative<ConcatAttributes>(concat.attributes) || concat.inputs.size() < 2)
    return std::nullopt;
  SppAttributes spp;
  spp.windows.clear();
  const int map = concat.inputs.back();
  int wider = std::numeric_limits<int>::max();
  for (size_t i = 0; i + 1 < concat.inputs.size(); ++i) {
    const int input = concat.inputs[i];
    if (input == network_input || readers[input] != 1) return std::nullopt;
    const LayerDescription& layer = layers[input];
    const auto* pool = std::get_if<MaxPoolAttributes>(&layer.attributes);
    if (!pool || pool->stride != 1 || pool->size % 2 == 0 || pool->size < 2 || pool->size >= wider ||
        layer.inputs[0] != map)
      return std::nullopt;
    wider = pool->size;
    spp.windows.insert(spp.windows.begin(), pool->size);
  }
  return spp;
}

}  // namespace

void merge_spp(DarknetLayers& result) {
  std::vector<LayerDescription>& layers = result.model.layers;
  const std::vector<int> readers = count_readers(result.model);
  std::vector<bool> gone(layers.size());
  for (LayerDescription& layer : layers) {
    const auto spp = spp_of(layers, readers, layer);
    if (!spp) continue;
    for (size_t i = 0; i + 1 < layer.inputs.size(); ++i) gone[layer.inputs[i]] = true;
    layer.inputs = {layer.inputs.back()};
    layer.attributes = *spp;
  }
  std::vector<int> place(layers.size());
  std::vector<LayerDescription> kept;
  for (size_t i = 0; i < layers.size(); ++i) {
    place[i] = static_cast<int>(kept.size());
    if (static_cast<int>(i) == result.frozen) result.frozen = gone[i] ? place[i] - 1 : place[i];
    if (gone[i]) continue;
    for (int& input : layers[i].inputs) {
      if (input != network_input) input = place[input];
    }
    kept.push_back(std::move(layers[i]));
  }
  layers = std::move(kept);
}

}  // namespace brightnet
