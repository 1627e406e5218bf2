#include "cli/known_words.h"

#include <algorithm>

#include "brightnet/configuration.h"
#include "brightnet/evaluate.h"
#include "cli/command_tree.h"

namespace brightnet::cli {

std::vector<std::string> run_keys(const CLI::App& command) {
  if (!command.get_option_no_throw("--set")) return {};
  return command.get_name() == "eval" ? evaluation_keys() : config_keys();
}

std::vector<std::string> settable_keys(const CLI::App& command) {
  const CLI::Option* const data = command.get_option_no_throw("--data");
  const bool may_be_model = command.get_option_no_throw("model") && (!data || data->count() == 0);
  return may_be_model ? std::vector<std::string>() : run_keys(command);
}

std::map<std::string, std::string> known_words(const CLI::App& command) {
  std::map<std::string, std::string> known;
  for (const CLI::App* other : commands_of(command)) known.emplace(other->get_name(), other->get_name());
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) known.emplace("--" + name, "--" + name);
  }
  std::vector<std::string> keys = settable_keys(command);
  // "size" is train.size rather than data.tiles.size.
  std::stable_partition(keys.begin(), keys.end(),
                        [](const std::string& key) { return std::count(key.begin(), key.end(), '.') < 2; });
  for (const std::string& key : keys) {
    const std::string last = key.substr(key.rfind('.') + 1);
    known.emplace("--" + last, "--set " + key + "=…");
  }
  return known;
}

}  // namespace brightnet::cli
