#include "formats/darknet/import.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/files.h"
#include "formats/darknet/recipe.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"

namespace brightnet {
namespace {

/// For a comment: replaces everything but printable ASCII, which might end the line or be invalid UTF-8.
std::string shown(std::string text) {
  for (char& c : text) c = c >= ' ' && c < 127 ? c : '?';
  return text;
}

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

std::vector<std::string> header_of(const std::string& file, const std::string& title,
                                   const std::vector<ImportNote>& notes) {
  std::vector<std::string> lines{title + shown(std::filesystem::path(file).filename().string()) + '.'};
  for (const ImportNote& note : notes) {
    append_wrapped(shown(std::filesystem::path(note.where).filename().string() + ": " + note.text) + '.',
                   lines);
  }
  return lines;
}

/// A text as YAML, quoted unless it is plainly a word or path.
std::string yaml_text(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '/' || c == '.' || c == '-' || c == '_';
  });
  if (plain && !text.empty() && std::isalpha(static_cast<unsigned char>(text[0]))) return text;
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << text;
  return emitter.c_str();
}

/// A name that is valid in YAML and as a folder, for any file name.
std::string model_name(const std::string& file) {
  std::string name;
  for (const char c : std::filesystem::path(file).stem().string()) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    name += plain ? c : '-';
  }
  return name.empty() || name.find_first_not_of("0123456789-") == std::string::npos ? "model" + name : name;
}

/// darknet takes the first of two settings of a key, and says nothing.
void note_repeated(const CfgSection& section, const std::string& file, std::vector<ImportNote>& notes) {
  for (const CfgSetting& setting : section.repeated()) {
    notes.push_back({file + ':' + std::to_string(setting.line),
                     fmt::format("[{}] sets '{}' again, to {}: its first value stays, as in darknet",
                                 section.kind(), setting.key.substr(0, 40), setting.value.substr(0, 40))});
  }
}

}  // namespace

DarknetImport import_darknet_text(std::string_view text, const std::string& file,
                                  const std::string& model_path) {
  const DarknetCfg cfg = parse_darknet_cfg(text, file);
  DarknetLayers layers = read_darknet_layers(cfg);
  layers.model.name = model_name(file);
  note_repeated(cfg.net, file, layers.notes);
  for (const CfgSection& section : cfg.sections) note_repeated(section, file, layers.notes);
  const std::vector<ImportNote> of_layers = layers.notes;
  DarknetImport imported;
  imported.letterbox = cfg.net.integer("letter_box", 0, 0, 1) != 0;
  imported.model_yaml = write_model_yaml(layers.model, header_of(file, "From darknet's ", of_layers));

  const YamlDocument document = YamlDocument::parse(imported.model_yaml, file);
  imported.model = parse_model(document, layers.model.classes);
  BRIGHTNET_CHECK(same_layers(imported.model.layers, layers.model.layers),
                  "the model's YAML is another model");
  const auto check_side = [&](const char* key, int side) {
    if (side % imported.model.stride == 0) return;
    cfg.net.refuse(key, std::string("has ") + key + "=" + std::to_string(side) +
                            ", and the layers need a multiple of " + std::to_string(imported.model.stride));
  };
  check_side("width", imported.model.size.width);
  check_side("height", imported.model.size.height);
  for (size_t i = 0; i < imported.model.layers.size(); ++i) {
    imported.model.layers[i].where = layers.model.layers[i].where;
  }

  std::vector<ImportNote> of_training;
  const std::string model =
      yaml_text(model_path.empty() ? std::filesystem::path(file).filename().string() : model_path);
  const std::string recipe =
      write_darknet_recipe(cfg, model, imported.model.stride, layers.frozen + 1, of_training);
  for (const std::string& line : header_of(file, "How darknet trains ", of_training))
    imported.recipe_yaml += "# " + line + '\n';
  imported.recipe_yaml += recipe;
  imported.notes = of_layers;
  imported.notes.insert(imported.notes.end(), of_training.begin(), of_training.end());
  return imported;
}

DarknetImport import_darknet(const std::filesystem::path& file, const std::string& model_path) {
  std::error_code failed;
  // Checked before reading: a file of megabytes is something else.
  if (std::filesystem::file_size(file, failed) > longest_darknet_cfg && !failed)
    throw InputError("this is too long to be a darknet configuration", file.string());
  return import_darknet_text(read_file(file), file.string(), model_path);
}

Model imported_model(const DarknetImport& imported, int classes, const HeadOptions& head, int channels) {
  const Model& own = imported.model;
  Model model = parse_model(YamlDocument::parse(imported.model_yaml, own.name),
                            classes > 0 ? classes : own.classes, head, channels);
  for (size_t i = 0; i < model.layers.size(); ++i) model.layers[i].where = own.layers[i].where;
  return model;
}

}  // namespace brightnet
