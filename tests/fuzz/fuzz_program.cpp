// Gives a reader broken files until time is up, and keeps those that it does not answer as it should.
//
//   fuzz_program --list
//   fuzz_program TARGET SECONDS FIRST FOLDER    inputs FIRST, FIRST + 1, …; findings go to FOLDER
//   fuzz_program TARGET --input NUMBER FOLDER   one input, in this process, for a debugger
//   fuzz_program TARGET --seeds FOLDER          what guided_program begins with: files that the reader takes, and a
//                                               dictionary
//
// The inputs are read in a child process, so that a crash ends the child alone. The parent sees at which input it
// ended, writes that again, and goes on with the next. Exit code 0 without findings, 1 with some.
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <new>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "tests/fuzz/targets.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// An input of some kilobytes takes milliseconds, under a sanitizer too.
constexpr double longest_seconds = 20;
/// Many findings of one target are mostly one fault.
constexpr int most_findings = 20;
constexpr int code_of_exception = 99;

/// Written by the child, read by the parent.
struct Shared {
  std::atomic<uint64_t> number{0}, accepted{0}, refused{0};
  char message[1024] = {};
};

Shared* share() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw InputError("no memory can be shared with a child process");
  return new (memory) Shared;
}

/// Reads one input. Anything but an InputError passes through.
bool accepts(const FuzzTarget& target, uint64_t number, const fs::path& folder) {
  target.write(folder, target.input(number));
  try {
    target.read(folder);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

[[noreturn]] void read_inputs(const FuzzTarget& target, uint64_t first, const fs::path& folder,
                              Shared& shared) {
  for (uint64_t number = first;; ++number) {
    shared.number = number;
    try {
      ++(accepts(target, number, folder) ? shared.accepted : shared.refused);
    } catch (const std::exception& problem) {
      std::strncpy(shared.message, problem.what(), sizeof shared.message - 1);
      _exit(code_of_exception);
    }
  }
}

class Search {
 public:
  Search(const FuzzTarget& target, fs::path folder)
      : target_(target),
        folder_(std::move(folder)),
        scratch_(folder_ / (target.name + ".scratch")),
        shared_(*share()) {
    fs::create_directories(scratch_);
    target_.prepare(scratch_);
  }
  ~Search() { fs::remove_all(scratch_); }

  /// The number of findings.
  int run(double seconds, uint64_t first) {
    const double end = seconds_now() + seconds;
    shared_.number = first;
    int findings = 0;
    for (uint64_t next = first; seconds_now() < end && findings < most_findings;) {
      const std::string problem = watch(next, end);
      if (problem.empty()) break;
      keep(problem);
      ++findings;
      next = shared_.number + 1;
    }
    std::cout << fmt::format("{:<12} {:>12} inputs, {:>3.0f} % accepted, {} findings, next {}\n",
                             target_.name, shared_.accepted + shared_.refused, share_accepted(), findings,
                             shared_.number + 1);
    return findings;
  }

 private:
  double share_accepted() const {
    const auto all = static_cast<double>(shared_.accepted + shared_.refused);
    return all > 0 ? 100 * static_cast<double>(shared_.accepted) / all : 0;
  }

  /// Starts a child at input `next` and waits for its end: the problem that ended it, or "" when time is up.
  std::string watch(uint64_t next, double end) {
    shared_.message[0] = 0;
    std::cout << std::flush;
    const pid_t child = fork();
    if (child < 0) throw InputError("no child process can be started");
    if (child == 0) read_inputs(target_, next, scratch_, shared_);
    uint64_t seen = next;
    double since = seconds_now();
    for (int status = 0;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      if (waitpid(child, &status, WNOHANG) == child) return described(status);
      const double now = seconds_now();
      if (shared_.number != seen) {
        seen = shared_.number;
        since = now;
      }
      const bool hangs = now - since > longest_seconds;
      if (!hangs && now < end) continue;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return hangs ? fmt::format("no answer within {:.0f} s", longest_seconds) : "";
    }
  }

  std::string described(int status) const {
    if (WIFSIGNALED(status))
      return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == code_of_exception)
      return fmt::format("not an InputError: {}", shared_.message);
    return fmt::format("ended with exit code {} (a sanitizer's report is above)", WEXITSTATUS(status));
  }

  void keep(const std::string& problem) const {
    const uint64_t number = shared_.number;
    const fs::path kept =
        folder_ / fmt::format("{}-{}", target_.name, number) / fs::path(target_.file).filename();
    fs::create_directories(kept.parent_path());
    write_atomically(kept, target_.input(number));
    std::cout << fmt::format("{}: {}\n  repeat it with: fuzz_program {} --input {} FOLDER\n", kept.string(),
                             problem, target_.name, number);
  }

  const FuzzTarget& target_;
  const fs::path folder_, scratch_;
  Shared& shared_;
};

/// Words and numbers of the reader's own files, and what the Mutator inserts, as libFuzzer reads them.
std::string dictionary(const FuzzTarget& target) {
  std::set<std::string> words(target.tokens.begin(), target.tokens.end());
  for (const std::string& content : target.corpus) {
    std::string word;
    for (const char c : content + '\n') {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
        continue;
      }
      if (word.size() > 2 && word.size() < 32) words.insert(word);
      word.clear();
    }
  }
  std::string text;
  for (const std::string& word : words) {
    text += '"';
    for (const char c : word) text += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    text += "\"\n";
  }
  return text;
}

void write_seeds(const FuzzTarget& target, const fs::path& folder) {
  fs::create_directories(folder);
  for (size_t i = 0; i < target.corpus.size(); ++i)
    write_atomically(folder / fmt::format("{}", i), target.corpus[i]);
  write_atomically(folder.string() + ".dict", dictionary(target));
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments[0] == "--list") {
    for (const FuzzTarget& target : fuzz_targets()) std::cout << target.name << '\n';
    return 0;
  }
  if (arguments.size() == 3 && arguments[1] == "--seeds") {
    write_seeds(fuzz_target(arguments[0]), arguments[2]);
    return 0;
  }
  if (arguments.size() != 4) {
    throw InputError(
        "the arguments are TARGET SECONDS FIRST FOLDER, TARGET --input NUMBER FOLDER, TARGET --seeds FOLDER, or --list");
  }
  const FuzzTarget& target = fuzz_target(arguments[0]);
  if (arguments[1] == "--input") {
    target.prepare(arguments[3]);
    std::cout << (accepts(target, std::stoull(arguments[2]), arguments[3]) ? "accepted\n" : "refused\n");
    return 0;
  }
  return Search(target, arguments[3]).run(std::stod(arguments[1]), std::stoull(arguments[2])) > 0 ? 1 : 0;
}

}  // namespace
}  // namespace brightnet::testing

int main(int count, char** arguments) {
  try {
    return brightnet::testing::run({arguments + 1, arguments + count});
  } catch (const brightnet::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
