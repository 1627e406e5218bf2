#include "train/setup/data_overrides.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "data/formats/data_yaml.h"
#include "formats/darknet/cfg.h"

namespace brightnet {

namespace fs = std::filesystem;

std::optional<RecognizedData> recognize_run_data(const std::string& data, const std::string& config,
                                                 const std::vector<std::string>& assignments) {
  if (!data.empty()) return recognize_data(data);
  std::error_code failed;
  if (!fs::is_regular_file(config, failed) || is_darknet_cfg(config)) return std::nullopt;
  YamlDocument document = YamlDocument::load(config);
  for (const std::string& assignment : assignments) document.set(assignment);
  const YamlValue root = document.root();
  if (!root.node.IsMap()) return std::nullopt;
  const YamlValue section{root.node["data"], root.file};
  if (!lacks_layout(section)) return std::nullopt;
  const YamlValue place{section.node["root"], root.file};
  const std::string text = yaml_as<std::string>(place, "root", "a text");
  const fs::path folder = fs::absolute(config).parent_path(),
                 found = find_path(text, folder, place.from_command_line());
  if (!fs::is_directory(found, failed)) return std::nullopt;  // refused where it is read
  DataOptions options;
  options.root = found.string();
  RecognizedData recognized = take_layout(section, options);
  recognized.place = text;
  return recognized;
}

bool lacks_validation(const RecognizedData& data, const std::vector<std::string>& assignments) {
  const bool said = std::any_of(assignments.begin(), assignments.end(), [](const std::string& text) {
    return text.starts_with("data.fold=") || text.starts_with("data.val=");
  });
  return !said && data.undivided() && !data.options.fold;
}

Overrides overrides_for(const std::string& data, const std::string& config,
                        std::vector<std::string> assignments) {
  Overrides overrides(std::move(assignments));
  const auto recognized = recognize_run_data(data, config, overrides.assignments);
  if (!recognized) return overrides;
  if (!data.empty()) overrides.data = recognized->options;
  if (lacks_validation(*recognized, overrides.assignments)) overrides.fold = validation_fold;
  return overrides;
}

NamedData name_data(const std::string& place, std::vector<std::string> assignments) {
  std::error_code failed;
  const bool is_config = fs::is_regular_file(place, failed) && !is_data(place);
  return is_config ? NamedData{place, overrides_for("", place, std::move(assignments))}
                   : NamedData{"", overrides_for(place, "", std::move(assignments))};
}

}  // namespace brightnet
