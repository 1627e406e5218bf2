#include <fmt/format.h>
#include <fmt/ranges.h>

#include "brightnet/data.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "data/commands/split.h"
#include "formats/darknet/import.h"
#include "train/setup/data_config.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The `data:` section without the keys that say nothing.
YAML::Node section_of(const DataOptions& data) {
  YAML::Node all = YAML::Load(print_config(data, false)), out(YAML::NodeType::Map);
  for (const auto& entry : all) {
    const YAML::Node& value = entry.second;
    const bool empty = value.IsScalar() ? value.Scalar().empty() : value.size() == 0;
    if (!empty) out[entry.first.Scalar()] = value;
  }
  for (const char* key : {"classes", "names"}) {  // a key that is not there would get one without a value
    if (out[key].IsDefined()) out[key].SetStyle(YAML::EmitterStyle::Flow);
  }
  return out;
}

/// The configuration as it was written, with these data and absolute paths; of a data set without one, the data alone.
YAML::Node with_data(const fs::path& file, const RunConfig& config, const DataOptions& data) {
  YAML::Node root(YAML::NodeType::Map);
  if (file.empty()) {
    root["name"] = fs::path(config.data.root).filename().string();
  } else {
    const bool cfg = config.imported && fs::equivalent(file, config.model);
    root = cfg ? YAML::Load(config.imported->recipe_yaml) : YAML::Clone(YamlDocument::load(file).root().node);
    if (!config.model.empty()) root["model"] = config.model;
    for (const auto& [key, file] : config.train.files()) root["train"][key] = file;
  }
  root["data"] = section_of(data);
  return root;
}

/// The YAML of a run on the division; "data.yaml" of a data set without a configuration around it.
fs::path config_of_division(const Configuration& named, const fs::path& folder) {
  const std::string name = named.config.empty() ? "data" : fs::path(named.config).stem().string();
  return folder / (name + ".yaml");
}

}  // namespace

std::vector<fs::path> files_of_division(const Configuration& data, const fs::path& folder) {
  std::vector<fs::path> files{config_of_division(with_data_for_config(data), folder)};
  for (const Split split : enum_values<Split>()) {
    for (const DatasetFormat& format : dataset_formats()) {
      if (!format.written_extension.empty())
        files.push_back(folder / (std::string(enum_name(split)) + format.written_extension));
    }
  }
  return files;
}

DividedData divide_data(const Configuration& data, const SplitOptions& options) {
  const Configuration named = with_data_for_config(data);
  const fs::path source = named.config.empty() ? named.data : named.config;
  const RunConfig config = data_config(named);
  const SplitReport report = split_dataset(config.data, options);
  if (!report.problems.empty()) log::warn("{}", report.problems);
  const fs::path file = config_of_division(named, options.folder);
  const YAML::Node root = with_data(named.config, config, report.data);
  YAML::Emitter yaml;
  yaml << root;
  write_atomically(file, fmt::format("# Written by brightnet data split {} --ratios {} --seed {}{}\n{}\n",
                                     shell_path(source), fmt::join(options.ratios, ","), options.seed,
                                     options.similar ? "" : " --exact", yaml.c_str()));
  return {answer_of(report.text(), report.json()), file, root["model"].IsDefined()};
}

}  // namespace brightnet
