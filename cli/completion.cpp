// brightnet completion: the words that a shell completes.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_tree.h"
#include "cli/commands.h"

namespace brightnet::cli {
namespace {

/// Patterns of a `case`: "a"|"b".
std::string alternatives(const std::vector<std::string>& words) {
  return fmt::format("\"{}\"", fmt::join(words, "\"|\""));
}

/// How an option's value is completed, as the body of a branch; "" for files, which are completed otherwise.
std::string completed_value(const CLI::Option& option) {
  const auto words = [](const std::string& list) {
    return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", list);
  };
  if (name_of(option) == "--model")
    return "COMPREPLY=($(compgen -W \"$(brightnet models --names 2>/dev/null)\" -f -- \"$cur\"))";
  if (const auto choices = choices_of(option); !choices.empty())
    return words(fmt::format("{}", fmt::join(choices, " ")));
  for (const char* number : {"INT", "UINT", "FLOAT", "N", "K/N", "M", "E", "J"}) {
    if (value_of(option) == number) return "COMPREPLY=()";
  }
  return "";
}

/// The options and commands that a command takes.
std::string words_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : commands_of(app)) words.push_back(command->get_name());
  for (const CLI::Option* option : options_of(app)) words.push_back(name_of(*option));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> steps, with_commands{""};
  std::map<std::string, std::vector<std::string>> values;  // by what completes them
  std::string options = fmt::format("    \"\") words=\"{}\" ;;\n", words_of(app));
  for_each_command(app, [&](const std::string& words, const CLI::App& command) {
    const size_t last = words.rfind(' ');
    steps.push_back(last == std::string::npos ? '/' + words
                                              : words.substr(0, last) + '/' + words.substr(last + 1));
    if (!commands_of(command).empty()) with_commands.push_back(words);
    options += fmt::format("    \"{}\") words=\"{}\" ;;\n", words, words_of(command));
    for (const CLI::Option* option : options_of(command)) {
      if (const std::string body = completed_value(*option); !value_of(*option).empty() && !body.empty())
        values[body].push_back(words + ':' + name_of(*option));
    }
  });
  std::string branches;
  for (const auto& [body, of] : values)
    branches += fmt::format("    {})\n      {}; return ;;\n", alternatives(of), body);
  return fmt::format(R"(# bash completion of brightnet, written by `brightnet completion bash`
_brightnet() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command/${{COMP_WORDS[i]}}" in
      {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command:$prev" in
{}  esac
  case "$command" in
{}  esac
  case "$command" in
    {}) COMPREPLY=($(compgen -W "$words" -- "$cur")); return ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}}
complete -o filenames -F _brightnet brightnet
)",
                     alternatives(steps), branches, options, alternatives(with_commands));
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("completion", "print a script that completes brightnet's words in a shell");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash")
      ->check(CLI::IsMember(std::vector<std::string>{"bash"}))
      ->required();
  command->callback([&app, &action, shell] {
    action = [&app, shell] {
      if (*shell == "bash") std::cout << bash_script(app);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
