#include "formats/darknet/import.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "core/config.h"
#include "core/files.h"
#include "formats/darknet/recipe.h"
#include "layers/model/builder.h"
#include "layers/model/writer.h"

namespace brightnet {
namespace {

/// A text for a comment: printable ASCII alone, since other bytes might end the line or be invalid UTF-8.
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
  const bool letter_first = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0]));
  return plain && letter_first ? text : yaml_quoted(text);
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

/// The .cfg has no names.
void name_layers(Model& model) {
  const std::vector<double> scales = layer_scales(model.layers);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].name = Model::kind(model.layers[i]) + std::to_string(i);
  std::set<std::string> strides;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (!is_head(model.layers[i])) continue;
    std::string stride = fmt::format("{:g}", scales[i]);
    while (!strides.insert(stride).second) stride += 'b';
    model.layers[i].name = "head" + stride;
    model.layers[model.layers[i].inputs[0]].name = "predict" + stride;
  }
}

/// The filters of the convolution before a head of so many classes: 0, `auto`, or their number where it has groups, which
/// `auto` does not go with.
int filters_before_head(const ConvAttributes& conv, int old_classes, int classes) {
  return conv.groups == 1 ? 0 : conv.filters / (5 + old_classes) * (5 + classes);
}

/// The network of these layers with heads for other classes, which what predicts for them follows.
Model model_of_layers(const Model& layers, int classes, const HeadOptions& head, int channels) {
  const std::vector<bool> predicts = predicting_layers(layers);
  Model model = layers;
  if (classes > 0) model.classes = classes;
  if (channels > 0) model.channels = channels;
  const int wanted = model.classes;
  ModelBuilder builder(std::move(model));
  for (size_t i = 0; i < predicts.size(); ++i) {
    LayerDescription layer = layers.layers[i];
    if (predicts[i]) {
      auto& conv = std::get<ConvAttributes>(layer.attributes);
      conv.filters = filters_before_head(conv, layers.classes, wanted);
    }
    if (auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) apply(head, *yolo);
    builder.add(std::move(layer));
  }
  return builder.finish(layers.name);
}

}  // namespace

DarknetImport import_darknet_text(std::string_view text, const std::string& file,
                                  const std::string& model_path) {
  const DarknetCfg cfg = parse_darknet_cfg(text, file);
  DarknetLayers layers = read_darknet_layers(cfg);
  layers.model.name = model_name(file);
  name_layers(layers.model);
  note_repeated(cfg.net, file, layers.notes);
  for (const CfgSection& section : cfg.sections) note_repeated(section, file, layers.notes);
  DarknetImport imported;
  imported.letterbox = cfg.net.integer("letter_box", 0, 0, 1) != 0;
  imported.model = model_of_layers(layers.model, 0, {}, 0);
  const auto check_side = [&](const char* key, int side) {
    if (side % imported.model.stride == 0) return;
    cfg.net.refuse(key, std::string("has ") + key + "=" + std::to_string(side) +
                            ", and the layers need a multiple of " + std::to_string(imported.model.stride));
  };
  check_side("width", imported.model.size.width);
  check_side("height", imported.model.size.height);

  std::vector<ImportNote> of_training;
  const std::string model =
      yaml_text(model_path.empty() ? std::filesystem::path(file).filename().string() : model_path);
  const std::string recipe =
      write_darknet_recipe(cfg, model, imported.model.stride, layers.frozen + 1, of_training);
  for (const std::string& line : header_of(file, "How darknet trains ", of_training))
    imported.recipe_yaml += "# " + line + '\n';
  imported.recipe_yaml += recipe;
  imported.notes_of_model = layers.notes.size();
  imported.notes = std::move(layers.notes);
  imported.notes.insert(imported.notes.end(), of_training.begin(), of_training.end());
  return imported;
}

DarknetImport import_darknet(const std::filesystem::path& file, const std::string& model_path) {
  std::error_code failed;
  // Checked before reading: a file of megabytes is something else.
  const uint64_t bytes = std::filesystem::file_size(file, failed);
  if (!failed && bytes > longest_darknet_cfg) refuse_long_darknet_cfg(bytes, file.string());
  return import_darknet_text(read_file(file), file.string(), model_path);
}

Model imported_model(const DarknetImport& imported, int classes, const HeadOptions& head, int channels) {
  return model_of_layers(imported.model, classes, head, channels);
}

std::string DarknetImport::model_yaml() const {
  const std::string file = model.layers[0].where.substr(0, model.layers[0].where.rfind(':'));
  const std::vector<ImportNote> of_model(notes.begin(), notes.begin() + notes_of_model);
  return write_model_yaml(model, header_of(file, "From darknet's ", of_model), true);
}

}  // namespace brightnet
