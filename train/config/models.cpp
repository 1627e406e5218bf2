#include "train/config/models.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/resource_folder.h"

namespace brightnet {
namespace fs = std::filesystem;

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(resource_folder() / "models", failed)) {
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
    return resource_folder() / "models" / (name + ".yaml");
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

}  // namespace brightnet
