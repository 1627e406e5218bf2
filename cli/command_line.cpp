#include "cli/command_line.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "brightnet/error.h"
#include "cli/command_tree.h"

namespace brightnet::cli {
namespace {

/// "train.epochs=50", as after --set.
bool is_assignment(const std::string& word) {
  const size_t key = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.");
  return key > 0 && key != std::string::npos && word[key] == '=' && !std::filesystem::exists(word);
}

}  // namespace

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

void refuse_options_as_values(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  auto word = words.begin();
  for (; word != words.end() && command_of(*command, *word); ++word) command = command_of(*command, *word);
  const auto option_of = [&](const std::string& name) {
    return name.starts_with("--") ? command->get_option_no_throw(name.substr(0, name.find('='))) : nullptr;
  };
  for (; word != words.end() && word + 1 != words.end(); ++word) {
    const CLI::Option* const option = option_of(*word);
    if (!option || word->find('=') != std::string::npos || option->get_items_expected_min() == 0) continue;
    ++word;  // its value
    if (option_of(*word))
      throw InputError(fmt::format("{} needs a value, and {} behind it is an option", *(word - 1), *word), "",
                       fmt::format("Write the value between them. A file of that name is ./{}.", *word));
  }
}

}  // namespace brightnet::cli
