#include "cli/command_tree.h"

#include <sstream>

namespace brightnet::cli {
namespace {

/// CLI11 writes the type and then the checks: "TEXT:{train,val,test}".
size_t choices_begin(const std::string& type) {
  return type.find(":{");
}

void visit_below(const CLI::App& app, const std::string& words,
                 const std::function<void(const std::string&, const CLI::App&)>& visit) {
  for (const CLI::App* command : commands_of(app)) {
    const std::string own = words.empty() ? command->get_name() : words + ' ' + command->get_name();
    visit(own, *command);
    visit_below(*command, own, visit);
  }
}

}  // namespace

void for_each_command(const CLI::App& app,
                      const std::function<void(const std::string& words, const CLI::App& command)>& visit) {
  visit_below(app, "", visit);
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* command_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  return word.starts_with('-') && word.size() > 1 ? app.get_option_no_throw(word.substr(0, word.find('=')))
                                                  : nullptr;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? '-' + option.get_snames().front() : "--" + option.get_lnames().front();
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = choices_begin(type);
  std::vector<std::string> choices;
  if (begin == std::string::npos) return choices;
  std::istringstream list(type.substr(begin + 2, type.find('}', begin) - begin - 2));
  for (std::string word; std::getline(list, word, ',');) choices.push_back(word);
  return choices;
}

std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  return type.substr(0, choices_begin(type));
}

}  // namespace brightnet::cli
