#include "train/config/contradictions.h"

#include <fmt/format.h>

#include "train/config/config.h"

namespace brightnet {
namespace {

YamlDocument document_of(const std::string& assignment) {
  YamlDocument document = YamlDocument::parse("", "");
  document.set(assignment);
  return document;
}

std::string as_text(const YAML::Node& value) {
  YAML::Node plain = YAML::Clone(value);
  plain.SetTag("?");  // without the option's name
  YAML::Emitter emitter;
  emitter << YAML::Flow << plain;
  return emitter.c_str();
}

/// The value as a configuration prints it: 96, 96x96 and [96, 96] are one size. As it is where none can have it.
std::string printed_value(const std::string& key, const std::string& assignment) {
  const YamlDocument given = document_of(assignment);
  try {
    RunConfig config;
    read_config(given.root(), config);
    return as_text(YamlDocument::parse(print_config(config, false), "").at(key).node);
  } catch (const InputError&) {
    return as_text(given.at(key).node);
  }
}

bool is_same_file(const YAML::Node& a, const YAML::Node& b) {
  std::error_code failed;
  return a.IsScalar() && b.IsScalar() && std::filesystem::equivalent(a.Scalar(), b.Scalar(), failed);
}

}  // namespace

void refuse_contradictions(const std::vector<std::string>& assignments) {
  YamlDocument settings = YamlDocument::parse("", "");
  for (const std::string& assignment : assignments) {
    const std::string own = without_option(assignment), key = own.substr(0, own.find('='));
    if (own == assignment) {
      settings.set(assignment);
      continue;
    }
    const YAML::Node value = settings.at(key).node;
    if (!value.IsDefined()) continue;
    const std::string other = key + '=' + as_text(value);
    if (is_same_file(document_of(assignment).at(key).node, value) ||
        printed_value(key, assignment) == printed_value(key, other))
      continue;
    throw InputError(
        fmt::format("{} ({}) and --set {} contradict each other", option_of(assignment), own, other), "",
        "Leave one of the two out.");
  }
}

}  // namespace brightnet
