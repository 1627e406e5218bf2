// The commands and options as CLI11 knows them: what the shell completion and the man page are written from, so that
// neither can differ from the help, and by what the command line is read before CLI11 does. (private to cli/)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace brightnet::cli {

/// Calls `visit` with every command below `app`, in the order of the help; "data check" is the words of one.
void for_each_command(const CLI::App& app,
                      const std::function<void(const std::string& words, const CLI::App& command)>& visit);

/// The commands directly below `app`.
std::vector<const CLI::App*> commands_of(const CLI::App& app);
/// The command of this name directly below `app`, or null.
const CLI::App* command_of(const CLI::App& app, const std::string& name);

/// The option of this command that a word names, alone or before "="; null for other words, also for "-" and "-1".
const CLI::Option* option_named(const CLI::App& app, const std::string& word);

/// The options with names, without positional ones and those that no help shows.
std::vector<const CLI::Option*> options_of(const CLI::App& app);
std::vector<const CLI::Option*> positionals_of(const CLI::App& app);

/// The name of an option: "--json", or "-h" for one without a long name.
std::string name_of(const CLI::Option& option);

/// The words that an option takes, where it takes no others; otherwise empty.
std::vector<std::string> choices_of(const CLI::Option& option);

/// What the help calls an option's value: "FILE", without its choices; "" for a flag.
std::string value_of(const CLI::Option& option);

}  // namespace brightnet::cli
