// A darknet .cfg as a brightnet model and a recipe to train it. docs/migrate.md has the table of keys.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "layers/model/model.h"
#include "train/formats/darknet/layers.h"

namespace brightnet {

struct DarknetImport {
  /// Layers in the order of the .cfg (and so of .weights files), named as model_yaml names them; their
  /// `where` is the section's "file:line".
  Model model;
  /// As a person writes it; model.yaml is the resolved one.
  std::string model_yaml;
  /// A run's configuration; its `model:` is the path that was asked for.
  std::string recipe_yaml;
  /// How images are put into the network's input.
  bool letterbox = false;
  /// What is not carried over, or not as it stands.
  std::vector<ImportNote> notes;
};

/// Reads a .cfg. `model_path` is what the recipe calls the model; the .cfg itself unless given. Throws
/// InputError, naming file, section and line, for what cannot be imported.
DarknetImport import_darknet(const std::filesystem::path& file, const std::string& model_path = "");
/// The same from memory; `file` is what messages call it.
DarknetImport import_darknet_text(std::string_view text, const std::string& file,
                                  const std::string& model_path = "");

/// The imported model with heads for this many classes (≤ 0: those of the .cfg) and with these values
/// over its `head:` (may be undefined). darknet users edit filters= by hand; here the heads' width
/// follows the data.
Model imported_model(const DarknetImport& imported, int classes, const YamlValue& head_overrides = {});

}  // namespace brightnet
