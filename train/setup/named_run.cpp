#include "train/setup/named_run.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "core/log.h"
#include "data/formats/data_yaml.h"
#include "formats/darknet/cfg.h"
#include "train/config/contradictions.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

std::optional<RecognizedData> recognize_run_data(const std::string& data, const std::string& config,
                                                 const std::vector<std::string>& assignments) {
  if (!data.empty()) return recognize_data(data);
  std::error_code failed;
  const bool is_yaml =
      fs::path(config).extension() != ".data" && !is_darknet_cfg(config);  // refused where it is read
  if (!fs::is_regular_file(config, failed) || !is_yaml) return std::nullopt;
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

}  // namespace

Overrides NamedRun::overrides() const {
  Overrides overrides(named_.settings);
  auto& all = overrides.assignments;
  if (!named_.model.empty()) all.push_back("--model:model=" + yaml_quoted(named_.model));
  if (!named_.data.empty()) overrides.data = recognized()->options;
  if (is_held_back()) overrides.data->val = overrides.data->test = overrides.data->train;
  if (divides()) overrides.fold = validation_fold;
  if (!named_.size.empty()) {
    all.push_back("--size:train.size=" + named_.size);
    // In the place of the sizes in the file, but not of those of a setting.
    all.insert(all.begin(), "--size:train.sizes=[]");
  }
  if (named_.batch != 0) all.push_back("--batch:train.batch=" + std::to_string(named_.batch));
  if (!named_.fold.empty()) all.push_back("--fold:data.fold=" + yaml_quoted(named_.fold));
  if (!named_.precision.empty())
    all.push_back("--precision:train.precision=" + yaml_quoted(named_.precision));
  refuse_contradictions(all);
  return overrides;
}

void NamedRun::say_data() const {
  if (!recognized()) return;
  log::info("Data: {}", recognized()->text());
  if (is_held_back()) log::info("By their name these are no training images: all of them are evaluated.");
  if (divides())
    log::info(
        "It names no validation images, so a tenth of those of training, or at least one, is set aside for validation; "
        "images that look alike stay together (data.fold={}).",
        to_text(validation_fold));
}

const RecognizedData* NamedRun::recognized() const {
  if (!is_asked_) recognized_ = recognize_run_data(named_.data, named_.config, named_.settings);
  is_asked_ = true;
  return recognized_ ? &*recognized_ : nullptr;
}

std::string NamedRun::divided_place() const {
  if (!divides()) return "";
  // A configuration's place is relative to its file.
  return named_.data.empty() ? recognized()->options.root : recognized()->place;
}

bool NamedRun::divides() const {
  return needs_validation_ && !says_validation() && recognized() && recognized()->lacks_validation() &&
         !recognized()->options.fold && !is_held_back();
}

bool NamedRun::says_validation() const {
  return !named_.fold.empty() || assigns(named_.settings, "data.fold") ||
         assigns(named_.settings, "data.val");
}

/// Whether an evaluation takes all images, since the place that names them says that they are not trained on.
bool NamedRun::is_held_back() const {
  return evaluates_ && !named_.data.empty() && !says_validation() && recognized()->undivided() &&
         names_held_back_images(recognized()->options);
}

Configuration with_data_for_config(Configuration named) {
  if (named.data.empty() && !named.config.empty() && is_data(named.config))
    std::swap(named.data, named.config);
  return named;
}

Configuration configuration_at(const std::string& place, std::vector<std::string> settings) {
  std::error_code failed;
  const bool is_config = fs::is_regular_file(place, failed) && !is_data(place);
  return {.config = is_config ? place : "", .data = is_config ? "" : place, .settings = std::move(settings)};
}

}  // namespace brightnet
