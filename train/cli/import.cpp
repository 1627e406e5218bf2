// brightnet import: a darknet .cfg as a model YAML, and a recipe to train it beside it.
#include <iostream>
#include <memory>

#include "core/files.h"
#include "core/log.h"
#include "layers/parameters.h"
#include "train/cli/commands.h"
#include "train/formats/darknet_import.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  std::string cfg, out;
  bool force = false;
};

/// "yolov4.yaml" → "yolov4-train.yaml".
fs::path recipe_path(const fs::path& model) {
  return model.parent_path() / (model.stem().string() + "-train" + model.extension().string());
}

void refuse_to_overwrite(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  throw InputError("this file is there already", file.string(),
                   "Give another --out, or --force to replace it.");
}

int import(const ImportArguments& arguments) {
  const fs::path model = arguments.out, recipe = recipe_path(model);
  if (model.extension() != ".yaml" && model.extension() != ".yml")
    throw InputError("--out is '" + arguments.out + "' and must end in .yaml", "--out");
  if (!arguments.force) {
    refuse_to_overwrite(model);
    refuse_to_overwrite(recipe);
  }
  const DarknetImport imported = import_darknet(arguments.cfg, 0, model.filename().string());
  write_atomically(model, imported.model_yaml);
  write_atomically(recipe, imported.recipe_yaml);
  for (const ImportNote& note : imported.notes) spdlog::info("{}: {}", note.where, note.text);
  spdlog::info("{}: {} layers, {:.2f} M parameters with {} classes", model.string(),
               imported.model.layers.size(),
               static_cast<double>(ParameterLayout(imported.model).trainable_parameters()) / 1e6,
               imported.declared_classes);
  spdlog::info("Train it: brightnet train {} --data obj.data", recipe.string());
  return 0;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("import", "turn a darknet .cfg into a model's YAML and a recipe");
  const auto arguments = std::make_shared<ImportArguments>();
  command->add_option("--cfg", arguments->cfg, "darknet's configuration")->type_name("X.cfg")->required();
  command->add_option("--out", arguments->out, "the model's YAML; the recipe is MODEL-train.yaml beside it")
      ->type_name("MODEL.yaml")
      ->required();
  command->add_flag("--force", arguments->force, "replace files that are there");
  command->callback([=, &action] { action = [arguments] { return import(*arguments); }; });
}

}  // namespace brightnet::cli
