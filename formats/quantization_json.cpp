#include "formats/quantization_json.h"

#include "core/json.h"

namespace brightnet {
namespace {

nlohmann::json range_to_json(const QuantizedRange& range) {
  return {{"scale", range.scale}, {"zero_point", range.zero_point}};
}

std::optional<QuantizedRange> range_from_json(const nlohmann::json& layer, const char* key) {
  if (!layer.contains(key)) return std::nullopt;
  const nlohmann::json& range = layer.at(key);
  return QuantizedRange{range.at("scale").get<float>(), whole_number<int>(range.at("zero_point"))};
}

}  // namespace

void to_json(nlohmann::json& json, const LayerQuantization& layer) {
  json = nlohmann::json::object();
  if (layer.output) json["output"] = range_to_json(*layer.output);
  if (layer.before_activation) json["before_activation"] = range_to_json(*layer.before_activation);
  if (!layer.weight_scales.empty()) json["weight_scales"] = layer.weight_scales;
}

void from_json(const nlohmann::json& json, LayerQuantization& layer) {
  layer = {.output = range_from_json(json, "output"),
           .before_activation = range_from_json(json, "before_activation")};
  if (json.contains("weight_scales")) json.at("weight_scales").get_to(layer.weight_scales);
}

}  // namespace brightnet
