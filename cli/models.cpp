// brightnet models: the models that a run can name, their size, and the weights that are published for them.
#include "train/config/models.h"

#include <iostream>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "cli/commands.h"
#include "core/json.h"
#include "formats/download/published_weights.h"
#include "layers/model/reader.h"
#include "layers/parameters.h"

namespace brightnet::cli {
namespace {

struct ModelsArguments {
  std::string json;
  bool names = false;
};

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

int list_models(const ModelsArguments& arguments) {
  const std::vector<std::string> names = model_names();
  if (names.empty()) model_file("", "");  // says where they were looked for
  if (arguments.names) {
    for (const std::string& name : names) std::cout << name << '\n';
    return 0;
  }
  check_answer(arguments.json, "models");
  Json models = Json::array();
  for (const std::string& name : names) models.push_back(to_json(name));
  if (arguments.json != "-") std::cout << table(models) << std::flush;
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(Json{{"models", models}}));
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("models", "list the models that can be named, and weights published for them");
  const auto arguments = std::make_shared<ModelsArguments>();
  command->add_flag("--names", arguments->names, "print the names alone, one a line");
  command->add_option("--json", arguments->json, "write JSON to this file; - for standard output")
      ->type_name("FILE");
  command->callback([=, &action] { action = [arguments] { return list_models(*arguments); }; });
}

}  // namespace brightnet::cli
