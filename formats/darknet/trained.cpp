#include "formats/darknet/trained.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "formats/darknet/import.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts_of(const fs::path& file) {
  std::vector<std::string> texts;
  for (TextLine& line : read_lines(file)) texts.push_back(std::move(line.text));
  return texts;
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

/// Refuses names of another number of classes than the network's, and says where each number comes from.
[[noreturn]] void refuse_names(const DarknetFilesToRead& files, const Model& cfg,
                               const TrainedModel& trained) {
  const int classes = trained.model.classes;
  const auto head = std::find_if(cfg.layers.begin(), cfg.layers.end(), is_head);
  std::string what = fmt::format("{} has classes={}", head->where, cfg.classes);
  what += cfg.classes == classes
              ? fmt::format(" and {} has the length of such a network", files.weights.filename().string())
              : fmt::format(" and {} has the length of a network with {}", files.weights.filename().string(),
                            classes);
  const bool listed = !files.names.empty();
  what += fmt::format(", but {} {}: a head has an output for every class, so there must be equally many",
                      listed ? files.names.string() + " names" : "the data set has",
                      counted(trained.classes.size(), "class", "classes"));
  const std::string train =
      "`brightnet train --weights` can start from these weights for other classes: it makes the heads as wide as the data need.";
  throw InputError(what, files.weights.string(),
                   listed
                       ? "Give the .names that the network was trained with; without --names the classes are "
                         "numbered. " +
                             train
                       : train);
}

}  // namespace

std::vector<std::string> read_darknet_names(const fs::path& file) {
  const std::vector<std::string> lines = texts_of(file);
  const std::string elsewhere = names_entry(lines);
  if (elsewhere.empty()) return lines;
  const fs::path names = find_path(elsewhere, fs::absolute(file).parent_path(), false);
  if (names.empty()) {
    throw InputError("its names are in '" + elsewhere + "', and there is no such file", file.string(),
                     "It was looked for beside it and in the current folder.");
  }
  return texts_of(names);
}

DarknetTrained read_darknet_trained(const DarknetFilesToRead& files) {
  const DarknetImport import = import_darknet(files.cfg);
  DarknetTrained made;
  TrainedModel& trained = made.trained;
  const auto load = [&](Model model) {
    trained.model = std::move(model);
    trained.layout = ParameterLayout(trained.model);
    trained.values = initial_parameters(trained.model, trained.layout, 0);
    // Part of a file tells nothing of the number of its classes.
    made.report = load_darknet_weights(files.weights, trained.model, trained.layout, trained.values,
                                       {.network = files.partial ? &trained.model : nullptr,
                                        .partial = files.partial,
                                        .may_be_partial = files.may_be_partial});
  };
  load(import.model);
  if (made.report.whole() && made.report.classes != trained.model.classes)
    load(imported_model(import, made.report.classes));

  trained.classes = files.names.empty() ? files.classes : read_darknet_names(files.names);
  const auto classes = static_cast<size_t>(trained.model.classes);
  if (trained.classes.empty()) {
    for (size_t i = 0; i < classes; ++i) trained.classes.push_back("class " + std::to_string(i));
  } else if (trained.classes.size() != classes) {
    refuse_names(files, import.model, trained);
  }
  trained.size = trained.model.size;
  trained.letterbox = import.letterbox;
  trained.resize = Resize::darknet;
  const DarknetHeader& header = made.report.header;
  trained.training = {
      {"imported", files.weights.filename().string()},
      {"images_seen", std::to_string(header.seen)},
      {"darknet_version", fmt::format("{}.{}.{}", header.major, header.minor, header.revision)}};
  return made;
}

}  // namespace brightnet
