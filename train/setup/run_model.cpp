#include "train/setup/run_model.h"

#include "layers/model/reader.h"
#include "layers/network.h"
#include "train/formats/darknet/import.h"
#include "train/setup/finetune.h"
#include "train/setup/run_data.h"

namespace brightnet {
namespace {

void check_stride(const RunConfig& config, const Model& model) {
  const auto check = [&](const std::string& key, int size) {
    if (size % model.stride == 0) return;
    throw InputError("'" + key + "' is " + std::to_string(size) + " and must be a multiple of " +
                         std::to_string(model.stride) + ", the stride of '" + model.name + "'",
                     config.where(key), "The nearest are " + nearest_input_sizes(size, model.stride) + '.');
  };
  if (config.train.sizes.empty()) check("train.size", config.train.size);
  for (const int size : config.train.sizes) check("train.sizes", size);
  check("evaluate.size", config.evaluate.size);
}

}  // namespace

Model load_model(const RunConfig& config, int classes) {
  if (config.model.empty()) {
    throw InputError("the configuration names no model", config.name,
                     "Add a line such as model: models/yolov4-tiny.yaml, or give --set model=FILE");
  }
  Model model = config.imported ? imported_model(*config.imported, classes, config.head)
                                : load_model(std::filesystem::path(config.model), classes, config.head);
  check_stride(config, model);
  set_rates(model, config.train);
  return model;
}

NamedModel read_model(const std::string& file, const std::vector<std::string>& assignments, int classes) {
  NamedModel named;
  if (is_darknet_cfg(file)) {
    named.config = load_run_config(file, assignments, false);
    named.model = load_model(named.config, classes);
    return named;
  }
  YamlDocument document = YamlDocument::load(file);
  const YAML::Node root = document.root().node;
  const auto has = [&](const char* key) { return root[key].IsDefined(); };
  if (has("layers")) {
    for (const auto& assignment : assignments) document.set(assignment);
    named.model = parse_model(document, classes);
    named.config.train.size = named.model.size;
    return named;
  }
  named.config = load_run_config(file, assignments, false);
  if (classes <= 0) classes = static_cast<int>(class_names(named.config).size());
  named.model = load_model(named.config, classes);
  return named;
}

}  // namespace brightnet
