// brightnet: trains and runs YOLOv4 detectors. This file maps errors to a message and an exit code.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <fcntl.h>
#include <fmt/format.h>
#include <opencv2/core/utility.hpp>
#include <poll.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/command_tree.h"
#include "cli/commands.h"
#include "cli/foreign_words.h"
#include "cli/known_words.h"
#include "cli/stop_signals.h"
#include "core/child_process.h"
#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/resource_folder.h"
#include "core/threads.h"

namespace {

using namespace brightnet;

/// If the caller closed a standard stream, the next opened file would get its descriptor and receive the
/// output. Opens /dev/null in its place: writes to standard output then fail, as they should, and messages
/// are lost.
void take_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) != stream) std::abort();
  }
}

/// The selected command with its name ("data check"); the program itself when none was selected.
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

/// The first unknown argument, preferably an option; "" when all are known.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  for (const std::string& word : rest) {
    if (word.size() > 1 && word[0] == '-') return word.substr(0, word.find('='));
  }
  return rest.empty() ? "" : rest[0];
}

/// "brightnet says --size", or that a word is not needed.
std::string in_place_of(std::string_view ours) {
  constexpr std::string_view nothing = "nothing: ";
  return ours.starts_with(nothing) ? fmt::format("leave it out, since {}", ours.substr(nothing.size()))
                                   : fmt::format("brightnet says {}", ours);
}

/// The error message for invalid arguments, with a remedy: of a word that is `unknown`, or else what is `wrong`. A wrong
/// command, `first`, is said before its options.
std::string complaint(const CLI::App& app, const ChosenCommand& chosen, const std::string& first,
                      const std::string& unknown, const std::string& wrong = "") {
  const auto& [command, name] = chosen;
  if (const auto ours = cli::command_of(app, first) ? "" : cli::in_our_words(first, ""); !ours.empty())
    return fmt::format("there is no command '{}': {}.", first, in_place_of(ours));
  const std::string help =
      "`brightnet " + name + (name.empty() ? "" : " ") + "--help` lists the options and commands.";
  const bool wrong_command = name.empty() && !first.empty() && first[0] != '-';
  const std::string word = wrong_command ? first : unknown;
  if (word.empty()) return wrong + ". " + help;
  std::string what = "unexpected argument '" + word + "'";
  const bool wants_command = !cli::commands_of(*command).empty();
  const std::string_view ours = cli::answer_for(word, *command);
  if (word[0] == '-') {
    what = "there is no option '" + word + "'";
  } else if (wants_command) {
    what = "there is no command '" + name + (name.empty() ? "" : " ") + word + "'";
  }
  if (!ours.empty() && !wants_command) return fmt::format("{}: {}.", what, in_place_of(ours));
  const auto known = cli::known_words(*command);
  std::vector<std::string> words;
  for (const auto& [like, meant] : known) words.push_back(like);
  const std::string nearest = nearest_word(word, words);
  return what + ". " + (nearest.empty() ? help : "Did you mean '" + known.at(nearest) + "'?");
}

int fail(ExitCode code, const std::string& message) {
  log::error("{}", message);
  return static_cast<int>(code);
}

/// Whether standard output is a pipe that nobody reads any more. A write that failed earlier has left no errno.
bool lost_its_reader() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR);
}

/// Flushes standard output; a failed write is an error.
int check_standard_output(int code) {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0) return code;
  // The reader has seen enough (`| head`); commands that go on without one, as `train` does, ignore SIGPIPE.
  if (lost_its_reader()) return code;
  const int failed = fail(
      ExitCode::input,
      "standard output could not be written. Is the disk full, was it closed, or is there no more memory?");
  return code == 0 ? failed : code;
}

const std::terminate_handler terminate_before = std::get_terminate();

/// Memory may run out where nothing can be caught: in a parallel loop, or a destructor of a library.
[[noreturn]] void terminate_with_reason() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    if (code_of_internal(e) == ExitCode::input) std::_Exit(fail(ExitCode::input, describe_internal(e)));
  } catch (...) {  // the handler before says what it was
  }
  terminate_before();
  std::abort();
}

/// Does what a command line says; returns the exit code.
int run(int count, char** arguments) {
  const PrintableOutput printable_output(std::cout);
  cli::leave_no_progress_line();
  set_resource_folder(resource_folder_of(this_program()));
  cv::setNumThreads(1);  // OpenCV's threads would compete with the loader's
  limit_compute_threads();
  CLI::App app("brightnet trains YOLOv4 and tiny-YOLOv4 detectors on your own images.", "brightnet");
  app.set_version_flag("--version", "brightnet " BRIGHTNET_VERSION);
  app.require_subcommand(1);
  cli::Action action;
  cli::add_commands(app, action);
  if (count == 1) {
    std::cerr << app.help();
    return static_cast<int>(ExitCode::input);
  }
  const cli::CommandLine line = cli::command_line(app, {arguments + 1, arguments + count});
  if (const std::string meant = cli::in_our_options(line); !meant.empty())
    return fail(ExitCode::input, fmt::format("options are written with dashes: {}", meant));
  const std::string first = arguments[1];
  if (const std::string word = cli::run_together(line); !word.empty())
    return fail(ExitCode::input, complaint(app, {line.command, line.name}, first, word));
  try {
    app.parse(cli::reversed_words(count, arguments));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))  // --help, --version
      return check_standard_output(app.exit(e));
    return fail(ExitCode::input, complaint(app, chosen_command(app), first, unknown_word(app), e.what()));
  }
  return check_standard_output(action());
}

}  // namespace

int main(int count, char** arguments) {
  // Exceeding `ulimit -f` then makes the write fail, like a full disk, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  // A parent that ignores the ends of its processes hands that on: this program would not learn how its own end.
  std::signal(SIGCHLD, SIG_DFL);
  std::set_terminate(terminate_with_reason);
  take_closed_streams();
  try {
    set_log_sink(standard_sink());
    return run(count, arguments);
  } catch (const Error& e) {
    return fail(e.code(), e.what());
  } catch (const std::exception& e) {
    return fail(code_of_internal(e), describe_internal(e));
  }
}
