// brightnet import: converts a darknet .cfg to a model YAML and a training configuration, and its .weights to
// the safetensors file that `eval`, `detect` and `export` read.
#include "formats/darknet/import.h"

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "core/files.h"
#include "core/log.h"
#include "core/text.h"
#include "detect/outputs/output.h"
#include "formats/darknet/trained.h"
#include "layers/parameters.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  std::string cfg, weights, names, out;
  bool partial = false, force = false;
};

/// "yolov4.yaml" → "yolov4-train.yaml".
fs::path recipe_path(const fs::path& model) {
  return model.parent_path() / (model.stem().string() + "-train" + model.extension().string());
}

void refuse_to_overwrite(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  throw InputError("this file already exists", file.string(),
                   "Name another with --out, or replace it with --force.");
}

/// Reads the .weights and reports the layers that it does not contain, as in a .conv.137.
TrainedModel read_weights(const ImportArguments& arguments) {
  DarknetTrained read =
      read_darknet_trained({arguments.cfg, arguments.weights, arguments.names, arguments.partial});
  const DarknetWeightsReport& report = read.report;
  log::info("{}: {}, of version {}.{}.{} after {} images", arguments.weights, report.summary(),
            report.header.major, report.header.minor, report.header.revision, report.header.seen);
  for (const auto& name : report.match.left) log::warn("  initialised fresh: {}", name);
  return std::move(read.trained);
}

int import(const ImportArguments& arguments) {
  const fs::path model = arguments.out, recipe = recipe_path(model);
  const bool trained = !arguments.weights.empty();
  const fs::path safetensors = fs::path(model).replace_extension(".safetensors");
  if (!trained && (!arguments.names.empty() || arguments.partial))
    throw InputError("--names and --weights-partial require --weights, which is not given", "--names");
  if (model.extension() != ".yaml" && model.extension() != ".yml")
    throw InputError("--out is '" + arguments.out + "' and must end in .yaml", "--out");
  refuse_to_replace_inputs({model, recipe, safetensors}, {arguments.cfg, arguments.weights, arguments.names});
  if (!arguments.force) {
    refuse_to_overwrite(model);
    refuse_to_overwrite(recipe);
    if (trained) refuse_to_overwrite(safetensors);
  }
  const DarknetImport imported = import_darknet(arguments.cfg, model.filename().string());
  std::optional<TrainedModel> network;
  if (trained) network = read_weights(arguments);
  prepare_folder(model.parent_path(), "--out");
  write_atomically(model, imported.model_yaml());
  write_atomically(recipe, imported.recipe_yaml);
  for (const ImportNote& note : imported.notes) log::info("{}: {}", note.where, note.text);
  log::info("{}: {} layers, {:.2f} M parameters with {}", model.string(), imported.model.layers.size(),
            static_cast<double>(ParameterLayout(imported.model).trainable_parameters()) / 1e6,
            counted(imported.model.classes, "class", "classes"));
  log::info("Train it: brightnet train {} --data obj.data", recipe.string());
  if (network) {
    save_weights(safetensors, *network);
    log::info("Detect objects with it: brightnet detect --weights {} --source FOLDER", safetensors.string());
  }
  return 0;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("import", "convert a darknet .cfg to a model YAML and a training configuration");
  const auto arguments = std::make_shared<ImportArguments>();
  command->add_option("--cfg", arguments->cfg, "the darknet .cfg")->type_name("X.cfg")->required();
  command
      ->add_option("--out", arguments->out,
                   "output model YAML; the training configuration MODEL-train.yaml is written next to it")
      ->type_name("MODEL.yaml")
      ->required();
  command
      ->add_option("--weights", arguments->weights,
                   "darknet's .weights of that .cfg; converted to MODEL.safetensors next to it")
      ->type_name("X.weights");
  command->add_option("--names", arguments->names, "class names: a .names file or an obj.data")
      ->type_name("FILE");
  command->add_flag("--weights-partial", arguments->partial,
                    "load the leading layers of a .weights file that matches only up to a point");
  command->add_flag("--force", arguments->force, "replace existing files");
  command->callback([=, &action] { action = [arguments] { return import(*arguments); }; });
}

}  // namespace brightnet::cli
