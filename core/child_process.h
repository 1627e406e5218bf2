// Processes that this program starts: the ranks' launcher, and the trials of `brightnet tune`.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sys/types.h>

namespace brightnet {

/// Starts a command, words[0] of $PATH or a path, without standard input. It is in a process group of its own,
/// so that Ctrl-C reaches this program alone, and gets a SIGTERM if this program dies. `signals` is its signal
/// mask. `output`: the file that its standard output and error replace; empty: this program's own. A command
/// that cannot be run ends with 127. `environment`: "NAME=value", besides and in the place of what this program has. Throws InputError when `output` cannot be written and, naming `where`, when no process
/// can be started.
pid_t start_process(const std::vector<std::string>& words, const std::string& where, const sigset_t& signals,
                    const std::filesystem::path& output = {},
                    const std::vector<std::string>& environment = {});

/// The exit code of waitpid()'s status: 128 and the signal's number when a signal ended the process.
int exit_code_of(int status);

/// In the place of an exit code where this program ignores the ends of its children (SIGCHLD): the kernel then keeps none.
constexpr int unknown_exit_code = -1;

/// The exit code of such a process once it has ended; nothing before. Does not wait.
std::optional<int> exit_code_if_ended(pid_t process);

/// Waits for such a process and returns its exit code; nothing when it has not ended in this time, or when a stop is requested
/// before. It is killed then, with what it has started, and not waited for: one that hangs in a driver dies late or never.
std::optional<int> wait_for_process(pid_t process, std::chrono::milliseconds limit,
                                    const std::stop_token& stop = {});

/// The path of this program, and of the one that has replaced it since.
std::string this_program();

}  // namespace brightnet
