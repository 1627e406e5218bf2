#include "core/child_process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

/// Opens the file for writing; none without a name.
Descriptor open_output(const std::filesystem::path& file) {
  if (file.empty()) return Descriptor();
  Descriptor opened(open_no_link(file, O_WRONLY | O_CREAT | O_TRUNC));
  if (opened) return opened;
  throw InputError(std::string("this file cannot be written: ") + std::strerror(errno), file.string(),
                   "Check that you may write there and that the disk is not full.");
}

/// As the new program will have it. Until then a signal that was held back would reach this one's handlers, and be lost.
void forget_handlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
  }
}

/// For exec(), which takes no constants.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// This program's environment with `more` in it.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** own = environ; *own; ++own) {
    const std::string_view variable = *own, name = variable.substr(0, variable.find('=') + 1);
    if (std::none_of(more.begin(), more.end(), [&](const auto& word) { return word.starts_with(name); }))
      all.emplace_back(variable);
  }
  return all;
}

[[noreturn]] void become(const std::vector<char*>& words, const std::vector<char*>& environment,
                         const sigset_t& signals, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it has died before, of which no signal comes any more
  if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0)
    ::dup2(nothing, STDIN_FILENO);
  if (output >= 0) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(output, stream);
  }
  forget_handlers();
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::execvpe(words[0], words.data(), environment.data());
  ::_exit(127);
}

}  // namespace

pid_t start_process(const std::vector<std::string>& words, const std::string& where, const sigset_t& signals,
                    const std::filesystem::path& output, const std::vector<std::string>& environment) {
  const std::vector<std::string> variables = environment_with(environment);
  const std::vector<char*> pointers = pointers_to(words), named = pointers_to(variables);
  // Here, where somebody learns that it fails: without it the command would write into this program's own output.
  const Descriptor opened = open_output(output);
  const pid_t parent = ::getpid(), child = ::fork();
  const int reason = errno;
  if (child == 0) become(pointers, named, signals, opened.number(), parent);
  if (child < 0) throw InputError(std::string("no process can be started: ") + std::strerror(reason), where);
  return child;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::optional<int> exit_code_if_ended(pid_t process) {
  int status = 0;
  const pid_t ended = ::waitpid(process, &status, WNOHANG);
  if (ended == process) return exit_code_of(status);
  return ended < 0 && errno == ECHILD ? std::optional(unknown_exit_code) : std::nullopt;
}

std::optional<int> wait_for_process(pid_t process, std::chrono::milliseconds limit,
                                    const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::optional<int> code;
  while (!(code = exit_code_if_ended(process))) {
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= end) {
      ::kill(-process, SIGKILL);
      ::kill(process, SIGKILL);  // it may have no group of its own yet
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return code;
}

// Linux adds a word to the name of a program whose file was replaced while it runs, by an update.
std::string this_program() {
  constexpr std::string_view replaced = " (deleted)";
  std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
  std::error_code ignored;
  if (path.ends_with(replaced) && !std::filesystem::exists(path, ignored))
    path.resize(path.size() - replaced.size());
  return path;
}

}  // namespace brightnet
