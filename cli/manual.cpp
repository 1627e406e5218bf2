// brightnet manual: the man page, written from the help of all commands.
#include <iostream>

#include <fmt/format.h>

#include "cli/command_tree.h"
#include "cli/commands.h"

namespace brightnet::cli {
namespace {

/// Text of a man page: no character of it is a request of troff's.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string option_text(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "" : ", ") + ('-' + name);
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "" : ", ") + ("--" + name);
  if (option.get_positional() && names.empty())
    names = value_of(option).empty() ? option.get_name() : value_of(option);
  std::string value = option.nonpositional() ? value_of(option) : "";
  std::string choices;
  for (const std::string& choice : choices_of(option)) choices += (choices.empty() ? "" : "|") + choice;
  if (!choices.empty()) value = choices;
  std::string text = ".TP\n\\fB" + escaped(names) + "\\fR";
  if (!value.empty()) text += " \\fI" + escaped(value) + "\\fR";
  return text + '\n' + escaped(option.get_description()) + '\n';
}

std::string command_text(const std::string& words, const CLI::App& command) {
  std::string text =
      fmt::format(".SS {}\n{}\n", escaped("brightnet " + words), escaped(command.get_description()));
  for (const CLI::Option* option : positionals_of(command)) text += option_text(*option);
  for (const CLI::Option* option : options_of(command)) {
    if (name_of(*option) != "--help") text += option_text(*option);
  }
  return text;
}

std::string manual(const CLI::App& app) {
  std::string text = fmt::format(R"(.TH BRIGHTNET 1 "" "brightnet {}" "User Commands"
.SH NAME
brightnet \- train and run YOLOv4 object detectors
.SH SYNOPSIS
\fBbrightnet\fR \fICOMMAND\fR [\fIOPTIONS\fR]
.SH DESCRIPTION
{}
.PP
Train on a data set, evaluate, and detect:
.PP
.nf
brightnet train \-\-model yolov4\-tiny \-\-data mine
brightnet eval \-\-data mine \-\-weights runs/mine/weights/best.safetensors
brightnet detect \-\-weights runs/mine/weights/best.safetensors \-\-source photos
.fi
.SH COMMANDS
)",
                                 BRIGHTNET_VERSION, escaped(app.get_description()));
  for_each_command(
      app, [&](const std::string& words, const CLI::App& command) { text += command_text(words, command); });
  text += R"(.SH "EXIT STATUS"
.TP
.B 0
done
.TP
.B 1
a bug or an internal failure
.TP
.B 2
invalid input: arguments, YAML, data or weights
.TP
.B 3
the requested device cannot be used
.TP
.B 4
stopped by a signal, after saving
)";
  return text;
}

}  // namespace

void add_manual(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("manual", "print the man page: the help of all commands");
  command->callback([&app, &action] {
    action = [&app] {
      std::cout << manual(app);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
