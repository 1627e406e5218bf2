#include "cli/command_line.h"

#include <algorithm>
#include <filesystem>

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

}  // namespace brightnet::cli
