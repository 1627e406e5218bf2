// The words of the command line, as CLI11 is to read them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace brightnet::cli {

/// Returns the words from the last to the first, as CLI11 takes them. `--set a=1 b=2` stands for `--set a=1 --set b=2`: CLI11
/// by itself would take either one value or every word that follows, also the configuration's file.
std::vector<std::string> reversed_words(int count, char** arguments);

/// Throws InputError where an option that needs a value stands before another option: CLI11 would take that one's name as the
/// value. `--json --no-save` would write a file `--no-save`, and save the pictures.
void refuse_options_as_values(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace brightnet::cli
