// The words that a command knows: what "Did you mean" offers, and the keys that its --set takes. (private to cli/)
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace brightnet::cli {

/// The keys that --set of this command takes of a run: config_keys(), or those of them that have an effect.
std::vector<std::string> run_keys(const CLI::App& command);

/// The keys that --set takes on this command line, where all are known: none without --set, and none of a command that may be
/// given a model, whose own keys they are then (`bench MODEL.yaml`), unless it is given a data set.
std::vector<std::string> settable_keys(const CLI::App& command);

/// Candidates for "Did you mean": words (options, commands, configuration keys) and the suggestion for each.
std::map<std::string, std::string> known_words(const CLI::App& command);

}  // namespace brightnet::cli
