// The words of the command line, as CLI11 is to read them.
#pragma once

#include <string>
#include <vector>

namespace brightnet::cli {

/// Returns the words from the last to the first, as CLI11 takes them. `--set a=1 b=2` stands for `--set a=1 --set b=2`: CLI11
/// by itself would take either one value or every word that follows, also the configuration's file.
std::vector<std::string> reversed_words(int count, char** arguments);

}  // namespace brightnet::cli
