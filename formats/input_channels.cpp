#include "formats/input_channels.h"

#include <algorithm>
#include <numeric>

namespace brightnet {

std::set<std::string> weights_of_input(const Model& model) {
  std::set<std::string> names;
  for (const LayerDescription& layer : model.layers) {
    const bool reads =
        std::find(layer.inputs.begin(), layer.inputs.end(), network_input) != layer.inputs.end();
    if (reads && std::holds_alternative<ConvAttributes>(layer.attributes))
      names.insert(layer.name + ".weight");
  }
  return names;
}

void sum_channels(std::span<const float> from, int channels, float* sums) {
  const auto count = static_cast<size_t>(channels);
  for (size_t i = 0; i + count <= from.size(); i += count)
    *sums++ = std::accumulate(from.begin() + static_cast<ptrdiff_t>(i),
                              from.begin() + static_cast<ptrdiff_t>(i + count), 0.0f);
}

}  // namespace brightnet
