#include "train/setup/model.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "brightnet/configuration.h"
#include "formats/darknet/import.h"
#include "layers/model/reader.h"
#include "layers/network.h"
#include "train/config/models.h"
#include "train/setup/data_sets.h"
#include "train/setup/finetune.h"

namespace brightnet {
namespace {

void check_stride(const RunConfig& config, const Model& model) {
  const auto check = [&](const std::string& key, const InputSize& size) {
    if (size.multiple_of(model.stride)) return;
    throw InputError("'" + key + "' is " + size.text() + " and must be a multiple of " +
                         std::to_string(model.stride) + ", the stride of '" + model.name + "'",
                     config.where(key), "The nearest are " + nearest_input_sizes(size, model.stride) + '.');
  };
  if (config.train.sizes.empty() && config.train.size.has_value()) check("train.size", config.train.size);
  for (const InputSize& size : config.train.sizes) check("train.sizes", size);
  check("evaluate.size", config.evaluate.size);
}

/// Refuses a run's sections, but those that a model's YAML has as well, for a model that is read by itself.
void refuse_run_sections(const std::vector<std::string>& assignments, const std::string& model) {
  const std::set<std::string> shared{"name", "input", "head"};
  for (const std::string& assignment : assignments) {
    const std::string own = without_option(assignment), key = own.substr(0, own.find('=')),
                      section = key.substr(0, key.find('.'));
    const auto keys = config_keys();
    const bool is_of_run = std::any_of(keys.begin(), keys.end(), [&](const std::string& known) {
      return known.substr(0, known.find('.')) == section;
    });
    if (!is_of_run || shared.contains(section)) continue;
    throw InputError(
        "'" + key + "' belongs to a run, and " + model + " is a model by itself", option_of(assignment),
        "Its size, batch and precision have options of their own; for the rest name a run's YAML instead.");
  }
}

}  // namespace

void require_model(const RunConfig& config) {
  if (!config.model.empty()) return;
  throw InputError(
      "the configuration names no model", config.name,
      fmt::format("Give --model NAME or add a line model: NAME. There are {}; a path of a model's YAML or "
                  "of a .cfg works as well.",
                  fmt::join(model_names(), ", ")));
}

Model load_model(const RunConfig& config, int classes) {
  require_model(config);
  Model model =
      config.imported
          ? imported_model(*config.imported, classes, config.head, config.input.channels)
          : load_model(std::filesystem::path(config.model), classes, config.head, config.input.channels);
  if (model.channels != 1 && model.channels != 3) {
    throw InputError("the input of '" + model.name + "' has " + std::to_string(model.channels) +
                         " channels, and images are read with 3 (RGB) or 1 (grey)",
                     config.where("input.channels"), "Set input.channels to 3 or to 1.");
  }
  check_stride(config, model);
  frozen_layers(model, config.train);  // refuses those that are none
  return model;
}

NamedModel read_model(const std::string& file, const Overrides& overrides, int classes) {
  const bool has_data = overrides.data.has_value();
  std::error_code failed;
  const bool by_name = is_model_name(file) && !std::filesystem::is_regular_file(file, failed);
  const std::string path = by_name ? model_file(file, "").string() : file;
  NamedModel named;
  const auto read_run = [&](const std::string& config, const Overrides& all, bool own_classes) {
    named.config = load_run_config(config, all, false);
    if (classes <= 0 && !own_classes) classes = static_cast<int>(class_names(named.config).size());
    named.model = load_model(named.config, classes);
    name_fresh_layers(named.config.train, named.model);
    set_rates(named.model, named.config.train);
    return named;
  };
  if (is_darknet_cfg(path)) return read_run(path, overrides, !has_data);
  YamlDocument document = YamlDocument::load(path);
  const YAML::Node root = document.root().node;
  if (!root["layers"].IsDefined()) return read_run(path, overrides, false);
  if (has_data) {
    Overrides run = overrides;
    run.assignments.insert(run.assignments.begin(), "--model:model=" + yaml_quoted(path));
    return read_run("", run, false);
  }
  refuse_run_sections(overrides.assignments, file);
  for (const auto& assignment : overrides.assignments) document.set(assignment);
  named.model = parse_model(document, classes);
  named.config.train.size = named.model.size;
  return named;
}

}  // namespace brightnet
