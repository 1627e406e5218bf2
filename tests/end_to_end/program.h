// Runs the brightnet program as a user does.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "tests/paths.h"

namespace brightnet::testing {

struct ProgramResult {
  int code = -1;
  std::string out, err;
};

/// A started program; its output goes to files in `folder`.
class Program {
 public:
  /// brightnet with these arguments.
  Program(std::vector<std::string> arguments, const std::filesystem::path& folder)
      : Program(program().string(), std::move(arguments), folder) {}
  /// Another command, which is looked for in $PATH.
  Program(const std::string& command, std::vector<std::string> arguments, const std::filesystem::path& folder)
      : out_(folder / "stdout.txt"), err_(folder / "stderr.txt") {
    arguments.insert(arguments.begin(), command);
    std::vector<char*> words;
    for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    // What an earlier program said must not be taken for this one's words.
    std::filesystem::remove(out_);
    std::filesystem::remove(err_);
    const std::string cache = folder / ".cache";  // not the user's own
    child_ = ::fork();
    if (child_ != 0) return;
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    const bool redirected =
        std::freopen(out_.c_str(), "w", stdout) && std::freopen(err_.c_str(), "w", stderr);
    if (redirected && ::chdir(folder.c_str()) == 0) ::execvp(words[0], words.data());
    ::_exit(127);
  }

  pid_t process() const { return child_; }
  void signal(int number) const { ::kill(child_, number); }
  std::string err_so_far() const { return std::filesystem::exists(err_) ? read_file(err_) : ""; }

  ProgramResult wait() const {
    int status = 0;
    ::waitpid(child_, &status, 0);
    ProgramResult result;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = read_file(out_);
    result.err = read_file(err_);
    return result;
  }

 private:
  std::filesystem::path out_, err_;
  pid_t child_ = -1;
};

/// These arguments, then `--set` for each of the settings.
inline std::vector<std::string> with_settings(std::vector<std::string> arguments,
                                              const std::vector<std::string>& settings) {
  for (const auto& setting : settings) arguments.push_back("--set=" + setting);
  return arguments;
}

inline ProgramResult run_program(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& folder) {
  return Program(arguments, folder).wait();
}

}  // namespace brightnet::testing
