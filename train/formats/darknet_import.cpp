#include "train/formats/darknet_import.h"

#include "core/files.h"
#include "train/formats/darknet_recipe.h"
#include "train/formats/model_yaml.h"

namespace brightnet {
namespace {

/// Breaks a comment into lines, those after the first indented.
void append_wrapped(std::string text, std::vector<std::string>& lines) {
  constexpr size_t width = 112;
  while (text.size() > width) {
    const size_t space = text.rfind(' ', width);
    if (space == std::string::npos || space < 4) break;
    lines.push_back(text.substr(0, space));
    text = "  " + text.substr(space + 1);
  }
  lines.push_back(std::move(text));
}

std::vector<std::string> header_of(const DarknetImport& imported, const std::string& file) {
  std::vector<std::string> lines{"From darknet's " + std::filesystem::path(file).filename().string() + '.'};
  for (const ImportNote& note : imported.notes) {
    append_wrapped(std::filesystem::path(note.where).filename().string() + ": " + note.text + '.', lines);
  }
  return lines;
}

/// A name that YAML and a folder can carry, whatever the file is called.
std::string model_name(const std::string& file) {
  std::string name;
  for (const char c : std::filesystem::path(file).stem().string()) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    name += plain ? c : '-';
  }
  return name.empty() || name.find_first_not_of("0123456789-") == std::string::npos ? "model" + name : name;
}

}  // namespace

DarknetImport import_darknet_text(std::string_view text, const std::string& file, int classes,
                                  const std::string& model_path) {
  const DarknetCfg cfg = parse_darknet_cfg(text, file);
  DarknetLayers layers = read_darknet_layers(cfg);
  layers.model.name = model_name(file);
  DarknetImport imported;
  imported.declared_classes = layers.model.classes;
  imported.notes = std::move(layers.notes);
  imported.recipe_yaml = write_darknet_recipe(cfg, model_path.empty() ? file : model_path, imported.notes);
  imported.letterbox = cfg.net.integer("letter_box", 0, 0, 1) != 0;
  imported.model_yaml = write_model_yaml(layers.model, header_of(imported, file));

  const YamlDocument document = YamlDocument::parse(imported.model_yaml, file);
  imported.model = parse_model(document, imported.declared_classes);
  BRIGHTNET_CHECK(same_layers(imported.model.layers, layers.model.layers),
                  "the model's YAML is another model");
  if (classes > 0 && classes != imported.declared_classes) imported.model = parse_model(document, classes);
  for (size_t i = 0; i < imported.model.layers.size(); ++i) {
    imported.model.layers[i].where = layers.model.layers[i].where;
  }
  if (imported.model.size % imported.model.stride != 0) {
    cfg.net.refuse("width", "has width=" + std::to_string(imported.model.size) +
                                ", and the layers need a multiple of " +
                                std::to_string(imported.model.stride));
  }
  return imported;
}

DarknetImport import_darknet(const std::filesystem::path& file, int classes, const std::string& model_path) {
  return import_darknet_text(read_file(file), file.string(), classes, model_path);
}

}  // namespace brightnet
