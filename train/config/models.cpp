#include "train/config/models.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config.h"
#include "core/error.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The folder with models/ and weights.yaml: that of an installation, or the source's beside a program that was just
/// built. Both are found from the program's own place, so that an installation can be moved.
fs::path resources() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& folder : {program / "../share/brightnet", program / "configs"}) {
    if (fs::is_directory(folder / "models", failed)) return folder.lexically_normal();
  }
  return {};
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(resources() / "models", failed)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_model_name(const std::string& model) {
  const std::string ending = fs::path(model).extension().string();
  return !model.empty() && model.find('/') == std::string::npos && ending != ".yaml" && ending != ".yml" &&
         ending != ".cfg";
}

fs::path model_file(const std::string& name, const std::string& where) {
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), name) != names.end())
    return resources() / "models" / (name + ".yaml");
  if (names.empty()) {
    throw InputError(
        "there is no model '" + name + "': the models of brightnet were not found", where,
        "They belong in share/brightnet/models beside the program's bin/; `cmake --install` puts them "
        "there. A path of a model's YAML works without them.");
  }
  const std::string nearest = nearest_word(name, names);
  throw InputError("there is no model '" + name + "'", where,
                   (nearest.empty() ? "" : "Did you mean '" + nearest + "'? ") +
                       fmt::format("There are {}; a path of a model's YAML or of a .cfg works as well.",
                                   fmt::join(names, ", ")));
}

std::vector<PublishedWeights> published_weights(const std::string& model) {
  const fs::path file = resources() / "weights.yaml";
  std::error_code failed;
  if (!fs::exists(file, failed)) return {};
  const YamlDocument document = YamlDocument::load(file);
  const YAML::Node root = document.root().node, list = root[model];
  std::vector<PublishedWeights> all;
  if (!list.IsDefined()) return all;
  for (const auto& entry : list) {
    PublishedWeights weights;
    read_fields({entry, document.file()}, [&](Fields& f) {
      f("file", weights.file, "");
      f("address", weights.address, "");
      f("contents", weights.contents, "");
    });
    all.push_back(std::move(weights));
  }
  return all;
}

}  // namespace brightnet
