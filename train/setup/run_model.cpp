#include "train/setup/run_model.h"

#include "layers/network.h"
#include "train/formats/darknet/import.h"
#include "train/setup/finetune.h"

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
  const auto read = [&] {
    if (!is_darknet_cfg(config.model))
      return load_model(std::filesystem::path(config.model), classes, config.head);
    DarknetImport imported = import_darknet(config.model, classes);
    if (!config.head.defined()) return std::move(imported.model);
    return parse_model(YamlDocument::parse(imported.model_yaml, config.model), classes, config.head);
  };
  Model model = read();
  check_stride(config, model);
  set_rates(model, config.train);
  return model;
}

}  // namespace brightnet
