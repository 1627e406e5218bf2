// The words of the command line, as CLI11 is to read them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace brightnet::cli {

/// A word behind the names of the commands, as CLI11 reads it.
struct CommandWord {
  std::string text;
  const CLI::Option* option = nullptr;  ///< the command's option that it names; null for other words
  bool is_value = false;                ///< of the option before it, which needs one
};

struct CommandLine {
  const CLI::App* command;
  std::string name;  ///< "data check"; "" for the program itself
  std::vector<CommandWord> words;
};

/// Says of each word what CLI11 will take it for. Throws InputError where an option that needs a value is followed by an
/// option of the same command, which CLI11 would take for the value.
CommandLine command_line(const CLI::App& app, const std::vector<std::string>& words);

/// The first word that CLI11 would read as short options in one, such as darknet's -height, which would be -h; "" where there is
/// none. No command has options that are written so.
std::string run_together(const CommandLine& line);

/// Returns the words from the last to the first, as CLI11 takes them. `--set a=1 b=2` stands for `--set a=1 --set b=2`: CLI11
/// by itself would take either one value or every word that follows, also the configuration's file.
std::vector<std::string> reversed_words(int count, char** arguments);

}  // namespace brightnet::cli
