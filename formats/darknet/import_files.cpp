#include <optional>

#include "brightnet/import.h"
#include "core/files.h"
#include "core/log.h"
#include "core/output_files.h"
#include "core/printable.h"
#include "core/text.h"
#include "formats/darknet/import.h"
#include "formats/darknet/trained.h"
#include "layers/parameters.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// "yolov4.yaml" → "yolov4-train.yaml".
fs::path recipe_path(const fs::path& model) {
  return model.parent_path() / (model.stem().string() + "-train" + model.extension().string());
}

/// Reads the .weights and reports the layers that it does not contain, as in a .conv.137.
TrainedModel read_weights(const ImportOptions& options) {
  DarknetTrained read = read_darknet_trained({.cfg = options.cfg,
                                              .weights = options.weights,
                                              .names = options.names,
                                              .partial = options.partial,
                                              .may_be_partial = true});
  const DarknetWeightsReport& report = read.report;
  log::info("{}: {}, of version {}.{}.{} after {} images", options.weights.string(), report.summary(),
            report.header.major, report.header.minor, report.header.revision, report.header.seen);
  for (const auto& name : report.match.left) log::warn("  initialised fresh: {}", name);
  return std::move(read.trained);
}

}  // namespace

void import_network(const ImportOptions& options) {
  const fs::path model = options.out, recipe = recipe_path(model);
  const bool trained = !options.weights.empty();
  const fs::path safetensors = fs::path(model).replace_extension(".safetensors");
  if (!trained && (!options.names.empty() || options.partial))
    throw InputError("--names and --weights-partial require --weights, which is not given", "--names");
  if (model.extension() != ".yaml" && model.extension() != ".yml")
    throw InputError("--out is '" + options.out.string() + "' and must end in .yaml", "--out");
  refuse_to_replace_inputs({model, recipe, safetensors}, {options.cfg, options.weights, options.names});
  if (!options.replace) {
    refuse_to_replace(model);
    refuse_to_replace(recipe);
    if (trained) refuse_to_replace(safetensors);
  }
  const DarknetImport imported = import_darknet(options.cfg, model.filename().string());
  std::optional<TrainedModel> network;
  if (trained) network = read_weights(options);
  prepare_folder(model.parent_path(), "--out");
  write_atomically(model, imported.model_yaml());
  write_atomically(recipe, imported.recipe_yaml);
  for (const ImportNote& note : imported.notes) log::info("{}: {}", note.where, note.text);
  log::result("{}: {} layers, {:.2f} M parameters with {}", model.string(), imported.model.layers.size(),
              ParameterLayout(imported.model).trainable_parameters() / 1e6,
              counted(imported.model.classes, "class", "classes"));
  log::result("Train it: brightnet train {} --data obj.data", shell_path(recipe));
  if (network) {
    save_weights(safetensors, *network);
    log::result("Detect objects with it: brightnet detect --weights {} --source FOLDER",
                shell_path(safetensors));
  }
}

}  // namespace brightnet
