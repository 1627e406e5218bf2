// brightnet: trains and runs YOLOv4 detectors. This file turns what went wrong into one paragraph and an
// exit code.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/log.h"
#include "train/cli/commands.h"

namespace {

using namespace brightnet;

/// A standard stream that the caller closed leaves its number to the next file that is opened, which would
/// then get what is printed. Its place is taken: what goes to standard output fails, as it should, and
/// messages are lost.
void take_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) != stream) std::abort();
  }
}

/// The command that the arguments chose, with its name ("data check"); the program itself when they
/// chose none.
struct ChosenCommand {
  const CLI::App* app;
  std::string name;
};

ChosenCommand chosen_command(const CLI::App& app) {
  ChosenCommand chosen{&app, ""};
  for (auto next = app.get_subcommands(); !next.empty(); next = chosen.app->get_subcommands()) {
    chosen.app = next[0];
    chosen.name += (chosen.name.empty() ? "" : " ") + next[0]->get_name();
  }
  return chosen;
}

/// The first argument that nobody asked for, an option if there is one; "" when all are known.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  for (const std::string& word : rest) {
    if (word.size() > 1 && word[0] == '-') return word.substr(0, word.find('='));
  }
  return rest.empty() ? "" : rest[0];
}

/// What could be meant by words that are near to it: options, commands, and values of the configuration.
std::map<std::string, std::string> known_words(const CLI::App& command) {
  std::map<std::string, std::string> known;
  for (const auto* other : command.get_subcommands([](const CLI::App*) { return true; }))
    known.emplace(other->get_name(), other->get_name());
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) known.emplace("--" + name, "--" + name);
  }
  if (!known.contains("--set")) return known;
  for (const std::string& key : config_keys()) {
    const std::string last = key.substr(key.rfind('.') + 1);
    known.emplace("--" + last, "--set " + key + "=…");
  }
  return known;
}

/// What is wrong with the arguments, and what to do.
std::string complaint(const CLI::App& app, const CLI::ParseError& e) {
  const auto [command, name] = chosen_command(app);
  const std::string help = "`brightnet " + name + (name.empty() ? "" : " ") + "--help` lists what there is.";
  const std::string word = unknown_word(app);
  if (word.empty()) return std::string(e.what()) + ". " + help;
  std::string what = "'" + word + "' is one argument too many";
  const bool wants_command = !command->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (word[0] == '-') {
    what = "there is no option '" + word + "'";
  } else if (wants_command) {
    what = "there is no command '" + name + (name.empty() ? "" : " ") + word + "'";
  }
  const auto known = known_words(*command);
  std::vector<std::string> words;
  for (const auto& [like, meant] : known) words.push_back(like);
  const std::string nearest = nearest_word(word, words);
  return what + ". " + (nearest.empty() ? help : "Did you mean '" + known.at(nearest) + "'?");
}

int fail(ExitCode code, const std::string& message) {
  spdlog::error("{}", message);
  return static_cast<int>(code);
}

/// An answer that did not arrive is no success.
int check_standard_output(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0) return code;
  const int failed =
      fail(ExitCode::input, "standard output could not be written. Is the disk full, or was it closed?");
  return code == 0 ? failed : code;
}

}  // namespace

int main(int count, char** arguments) {
  // A file that outgrows `ulimit -f` is told of by the write that fails, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  take_closed_streams();
  CLI::App app("brightnet trains YOLOv4 and tiny-YOLOv4 detectors on your own images.", "brightnet");
  app.set_version_flag("--version", "brightnet " BRIGHTNET_VERSION);
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
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))  // --help, --version
      return check_standard_output(app.exit(e));
    return fail(ExitCode::input, complaint(app, e));
  }
  try {
    return check_standard_output(action());
  } catch (const Error& e) {
    return fail(e.code(), e.what());
  } catch (const std::exception& e) {
    return fail(ExitCode::internal, describe_internal(e));
  }
}
