#include "train/formats/darknet/trained.h"

#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "train/formats/darknet/import.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::istringstream in(read_file(file));
  for (std::string line; std::getline(in, line);) {
    if (const auto text = trimmed(line); !text.empty()) lines.emplace_back(text);
  }
  return lines;
}

/// The value of `names` in an obj.data; empty for any other file.
std::string names_entry(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const size_t equals = line.find('=');
    const std::string_view text = line;
    if (equals != std::string::npos && trimmed(text.substr(0, equals)) == "names")
      return std::string(trimmed(text.substr(equals + 1)));
  }
  return "";
}

}  // namespace

std::vector<std::string> read_darknet_names(const fs::path& file) {
  const std::vector<std::string> lines = lines_of(file);
  const std::string elsewhere = names_entry(lines);
  if (elsewhere.empty()) return lines;
  const fs::path names = find_path(elsewhere, fs::absolute(file).parent_path(), false);
  if (names.empty()) {
    throw InputError("its names are in '" + elsewhere + "', and there is no such file", file.string(),
                     "It was looked for beside it and in the current folder.");
  }
  return lines_of(names);
}

DarknetTrained read_darknet_trained(const DarknetFilesToRead& files) {
  DarknetImport import = import_darknet(files.cfg);
  DarknetTrained made;
  TrainedModel& trained = made.trained;
  trained.layout = ParameterLayout(import.model);
  const auto classes = static_cast<size_t>(import.model.classes);
  if (files.names.empty()) {
    for (size_t i = 0; i < classes; ++i) trained.classes.push_back("class " + std::to_string(i));
  } else {
    trained.classes = read_darknet_names(files.names);
    if (trained.classes.size() != classes) {
      throw InputError("it names " + std::to_string(trained.classes.size()) + " classes, and " +
                           files.cfg.string() + " has " + std::to_string(classes),
                       files.names.string(), "Give the .names that the network was trained with.");
    }
  }
  trained.values = initial_parameters(import.model, trained.layout, 0);
  made.report = load_darknet_weights(files.weights, import.model, trained.layout, trained.values,
                                     {.network = &import.model, .partial = files.partial});
  trained.size = import.model.size;
  trained.letterbox = import.letterbox;
  trained.resize = Resize::darknet;
  trained.training = {{"imported", files.weights.filename().string()},
                      {"images_seen", std::to_string(made.report.header.seen)}};
  trained.model = std::move(import.model);
  return made;
}

}  // namespace brightnet
