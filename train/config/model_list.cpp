#include <numeric>

#include <fmt/format.h>

#include "brightnet/models.h"
#include "core/json.h"
#include "formats/download/published_weights.h"
#include "layers/model/reader.h"
#include "layers/parameters.h"
#include "train/config/models.h"

namespace brightnet {
namespace {

Json to_json(const std::string& name) {
  const Model model = load_model(model_file(name, ""), 0);
  const std::vector<double> flops = forward_flops(model, model.size);
  Json json{{"name", name},
            {"size", model.size},
            {"classes", model.classes},
            {"parameters", ParameterLayout(model).trainable_parameters()},
            {"gflop", std::accumulate(flops.begin(), flops.end(), 0.0) / 1e9},
            {"weights", Json::array()}};
  for (const PublishedWeights& weights : published_weights(name))
    json["weights"].push_back(
        {{"file", weights.file}, {"address", weights.address}, {"contents", weights.contents}});
  return json;
}

std::string table(const Json& models) {
  std::string text = fmt::format("{:<16} {:>6} {:>12} {:>8}   {}\n", "model", "size", "parameters", "GFLOP",
                                 "weights that darknet's authors publish");
  for (const Json& model : models) {
    std::string line = fmt::format("{:<16} {:>6} {:>10.2f} M {:>8.1f}", model["name"].get<std::string>(),
                                   model["size"].get<InputSize>().text(),
                                   model["parameters"].get<double>() / 1e6, model["gflop"].get<double>());
    const std::string indent(line.size(), ' ');
    if (model["weights"].empty()) text += line + "   -\n";
    for (const Json& weights : model["weights"]) {
      text +=
          fmt::format("{}   {}: {}\n{}     {}\n", line, weights["file"].get<std::string>(),
                      weights["contents"].get<std::string>(), indent, weights["address"].get<std::string>());
      line = indent;
    }
  }
  return text +
         "Parameters and GFLOP (a forward pass of one image of this size) are those of 80 classes. Train one: brightnet "
         "train --model NAME --data DATA; start from weights: --weights FILE.\n";
}

}  // namespace

std::vector<std::string> named_models() {
  std::vector<std::string> names = model_names();
  if (names.empty()) model_file("", "");  // says where they were looked for
  return names;
}

Answer describe_models() {
  Json models = Json::array();
  for (const std::string& name : named_models()) models.push_back(to_json(name));
  return {table(models), to_text(Json{{"models", models}})};
}

}  // namespace brightnet
