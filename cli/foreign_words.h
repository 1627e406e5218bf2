// Options and commands of other trainers, and what brightnet calls them: what a message answers to one of them, and a
// table of docs/migrate.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/command_line.h"

namespace brightnet::cli {

struct ForeignWord {
  std::string_view word;     ///< an option with its dashes, or a command
  std::string_view command;  ///< the command of brightnet for which this is the answer; empty: every command
  std::string_view ours;     ///< what to write instead, or why nothing takes its place
};

/// All known words. One with an answer of its own for a command comes before the one for all commands.
std::span<const ForeignWord> foreign_words();

/// Brightnet's answer to an option given to this command or, with an empty `command`, to a command; "" for
/// unknown words.
std::string_view in_our_words(std::string_view word, std::string_view command);

/// Brightnet's answer to an option given to this command: "" as well where the answer is an option that the
/// command does not have, or a key that its --set does not take.
std::string_view answer_for(std::string_view word, const CLI::App& command);

/// An option as Ultralytics writes it, `epochs=3`, as a part of a command line of ours, `--epochs 3`; "" where nothing takes
/// its place, or it is switched off. Nothing for a name that the command does not know.
std::optional<std::string> in_our_form(const std::string& name, const std::string& value,
                                       const CLI::App& command);

/// "train model=demo epochs=3", as Ultralytics has its options, as a command line of ours, and what has no option; options of
/// ours between them stay. "" where there is none that a command of ours knows.
std::string in_our_options(const CommandLine& line);

/// The table in Markdown, a row a word.
std::string foreign_words_table();

}  // namespace brightnet::cli
