// A darknet .cfg as a brightnet model and a recipe to train it. docs/migrate.md has the table of keys.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "layers/model/model.h"
#include "train/formats/darknet_layers.h"

namespace brightnet {

struct DarknetImport {
  /// Layers in the order of the .cfg (and so of .weights files), named as model_yaml names them; their
  /// `where` is the section's "file:line". model.classes are those asked for; declared_classes what the .cfg
  /// says.
  Model model;
  int declared_classes = 0;
  std::string
      model_yaml;  ///< as a person writes it, for the .cfg's own classes; model.yaml is the resolved one
  std::string recipe_yaml;        ///< a run's configuration; its `model:` is the path that was asked for
  bool letterbox = false;         ///< how images are put into the network's input
  std::vector<ImportNote> notes;  ///< what is not carried over, or not as it stands
};

/// Reads a .cfg. `classes` > 0 sets the heads' width (darknet users edit filters= by hand; here it follows
/// the data). `model_path` is what the recipe calls the model; the .cfg itself unless given. Throws
/// InputError, naming file, section and line, for what cannot be imported.
DarknetImport import_darknet(const std::filesystem::path& file, int classes = 0,
                             const std::string& model_path = "");
/// The same from memory; `file` is what messages call it.
DarknetImport import_darknet_text(std::string_view text, const std::string& file, int classes = 0,
                                  const std::string& model_path = "");

}  // namespace brightnet
