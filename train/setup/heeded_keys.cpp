#include "train/setup/heeded_keys.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config.h"
#include "train/config/config.h"

namespace brightnet {
namespace {

/// The keys that get a value: those of "data={val: a, test: b}" are data.val and data.test.
void add_keys_of(const YAML::Node& value, const std::string& key, std::vector<std::string>& keys) {
  if (!value.IsMap() || value.size() == 0) return keys.push_back(key);
  for (const auto& entry : value) add_keys_of(entry.second, key + '.' + entry.first.Scalar(), keys);
}

}  // namespace

bool HeededKeys::contain(const std::string& key) const {
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& heeded) {
    return heeded.ends_with('.') ? key.starts_with(heeded) : key == heeded;
  });
}

std::vector<std::string> HeededKeys::names() const {
  std::vector<std::string> names = config_keys();
  std::erase_if(names, [&](const std::string& key) { return !contain(key); });
  return names;
}

void HeededKeys::refuse_others(const std::vector<std::string>& assignments, const std::string& where) const {
  for (const std::string& assignment : assignments) {
    if (assignment.starts_with("--")) continue;
    YamlDocument document = YamlDocument::parse("", "");
    document.set(assignment);
    const std::string named = assignment.substr(0, assignment.find('='));
    std::vector<std::string> given;
    add_keys_of(document.at(named).node, named, given);
    for (const std::string& key : given) {
      if (contain(key)) continue;
      const auto remedy = remedies.find(key);
      throw InputError(fmt::format("'{}' has no effect on {}", key, by), where,
                       remedy != remedies.end() ? remedy->second
                                                : fmt::format("These have one: {}.", fmt::join(keys, ", ")));
    }
  }
}

}  // namespace brightnet
