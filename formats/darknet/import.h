// A darknet .cfg as a brightnet model and a recipe to train it. docs/migrate.md has the table of keys.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "formats/darknet/layers.h"
#include "layers/model/model.h"

namespace brightnet {

struct DarknetImport {
  /// Layers in the order of the .cfg (and so of .weights files), named by their kind and place in that order, heads and
  /// what predicts for them by their stride; their `where` is the section's "file:line".
  Model model;
  /// A run's configuration; its `model:` is `model_path`.
  std::string recipe_yaml;
  bool letterbox = false;         ///< whether images are letterboxed or stretched
  std::vector<ImportNote> notes;  ///< settings that are ignored or changed
  size_t notes_of_model = 0;      ///< number of notes, the first ones, that are about the model

  /// The model as a file: with the notes about it, and each layer's line of the .cfg.
  std::string model_yaml() const;
};

/// Reads a .cfg. `model_path` is the recipe's `model:`; the .cfg itself if empty. Throws InputError with
/// file, section and line for what cannot be imported.
DarknetImport import_darknet(const std::filesystem::path& file, const std::string& model_path = "");
/// Reads the text of a .cfg in memory, which messages call `file`.
DarknetImport import_darknet_text(std::string_view text, const std::string& file,
                                  const std::string& model_path = "");

/// The imported model with heads for this many classes (≤ 0: those of the .cfg) and with the keys of `head`. darknet
/// users edit filters= by hand; here the heads' width follows the data.
Model imported_model(const DarknetImport& imported, int classes, const HeadOptions& head = {},
                     int channels = 0);

}  // namespace brightnet
