#include "cli/command_line.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/command_tree.h"
#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"

namespace brightnet::cli {
namespace {

/// "train.epochs=50", as after --set.
bool is_assignment(const std::string& word) {
  const size_t key = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.");
  return key > 0 && key != std::string::npos && word[key] == '=' && !is_there(word);
}

/// "--json" of "--json=F".
std::string name_in(const std::string& word) {
  return word.substr(0, word.find('='));
}

/// Whether CLI11 takes the next word for the value of the option that this one names, whatever that word is. It does so behind
/// "--json=", too.
bool takes_next_word(const CLI::Option& option, const std::string& word) {
  return option.get_items_expected_min() > 0 && word.find('=') >= word.size() - 1;
}

}  // namespace

CommandLine command_line(const CLI::App& app, const std::vector<std::string>& words) {
  CommandLine line{&app, "", {}};
  auto word = words.begin();
  for (; word != words.end() && command_of(*line.command, *word); ++word) {
    line.command = command_of(*line.command, *word);
    line.name += (line.name.empty() ? "" : " ") + *word;
  }
  bool wants_value = false, any_option = true;
  for (; word != words.end(); ++word) {
    const CLI::Option* const option = any_option ? option_named(*line.command, *word) : nullptr;
    if (wants_value && option) {
      const std::string before = name_in(line.words.back().text);
      throw InputError(
          fmt::format("{} needs a value, and '{}' is an option", before, name_in(*word)), "",
          fmt::format("Give it one; if it is this word, write {}.", shell_quoted(before + '=' + *word)));
    }
    line.words.push_back({*word, option, wants_value});
    if (!wants_value && *word == "--") any_option = false;
    wants_value = option && takes_next_word(*option, *word);
  }
  return line;
}

std::string run_together(const CommandLine& line) {
  for (const auto& [text, option, is_value] : line.words) {
    if (is_value || option) continue;
    if (text == "--") break;
    const bool is_long = text.starts_with("--");
    if (!is_long && text.size() > 2 && option_named(*line.command, text.substr(0, 2))) return name_in(text);
  }
  return "";
}

std::vector<std::string> reversed_words(int count, char** arguments) {
  std::vector<std::string> words;
  // `brightnet help data check` is answered as `brightnet data check --help` is.
  const bool asks = count > 1 && arguments[1] == std::string_view("help");
  for (int i = asks ? 2 : 1; i < count; ++i) {
    const std::string word = arguments[i];
    const bool follows_value = words.size() >= 2 && words[words.size() - 2] == "--set";
    if (follows_value && is_assignment(word)) words.emplace_back("--set");
    words.push_back(word);
  }
  if (asks) words.emplace_back("--help");
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace brightnet::cli
