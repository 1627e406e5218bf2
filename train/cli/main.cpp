// brightnet: trains and runs YOLOv4 detectors. This file turns what went wrong into one paragraph and an exit
// code.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "core/error.h"
#include "core/log.h"
#include "train/cli/commands.h"

namespace {

using namespace brightnet;

/// The command that the arguments chose, or the program itself when they chose none.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands[0];
}

/// "Did you mean '--batch'?" for the first argument that is not known, or a pointer to the help.
std::string parse_remedy(const CLI::App& app, int count, char** arguments) {
  const CLI::App& command = chosen_command(app);
  std::vector<std::string> known;
  if (&command == &app) {
    for (const auto* other : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(other->get_name());
  }
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (int i = 1; i < count; ++i) {
    std::string word = arguments[i];
    word = word.substr(0, word.find('='));
    if (&command != &app && word.rfind("--", 0) != 0) continue;
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string nearest = nearest_word(word, known);
    if (!nearest.empty()) return "Did you mean '" + nearest + "'?";
  }
  const std::string name = &command == &app ? "" : command.get_name() + ' ';
  return "`brightnet " + name + "--help` lists what there is.";
}

int fail(ExitCode code, const std::string& message) {
  spdlog::error("{}", message);
  return static_cast<int>(code);
}

}  // namespace

int main(int count, char** arguments) {
  // A file that outgrows `ulimit -f` is told of by the write that fails, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("brightnet trains YOLOv4 and tiny-YOLOv4 detectors on your own images.", "brightnet");
  app.require_subcommand(1);
  cli::Action action;
  cli::add_train(app, action);
  cli::add_eval(app, action);
  cli::add_detect(app, action);
  cli::add_export(app, action);
  cli::add_bench(app, action);
  cli::add_memory(app, action);
  cli::add_config(app, action);
  cli::add_data(app, action);
  cli::add_import(app, action);
  cli::add_doctor(app, action);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(e);  // --help
    // A wrong command's name is reported by CLI11 as a missing one.
    const bool unknown = count > 1 && arguments[1][0] != '-' && app.get_subcommands().empty();
    const std::string what = unknown ? "there is no command '" + std::string(arguments[1]) + "'" : e.what();
    return fail(ExitCode::input, what + ". " + parse_remedy(app, count, arguments));
  }
  try {
    return action();
  } catch (const Error& e) {
    return fail(e.code(), e.what());
  } catch (const std::exception& e) {
    return fail(ExitCode::internal, describe_internal(e));
  }
}
