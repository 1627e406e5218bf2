// Writing a run's files so that none of them ends the run: one that cannot be written (disk full, mount gone,
// permission lost) is reported once and tried again at every save. Only the end of the run fails if it still
// cannot be written then.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace brightnet {

class RunFolder;

class OutputFiles {
 public:
  /// Called before each attempt. What it throws is thrown on, and nothing of the file has been touched.
  std::function<void()> guard = {};
  /// Waits between the attempts of insist().
  std::function<void(double seconds)> pause = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };

  /// Writes `file` by calling `write`. When that throws an InputError or a file system's error, `write` is
  /// kept and called again by retry(), so it must own what it writes. Replaces an earlier `write` of the file.
  /// `bytes` is the space that the file needs, for the message; 0: little.
  void write(const std::filesystem::path& file, uint64_t bytes, const std::function<void()>& write);
  /// Like write(), for a file that the caller will write again with newer content: `write` is not kept.
  void write_newest(const std::filesystem::path& file, uint64_t bytes, const std::function<void()>& write);
  /// Tries again to write what is kept.
  void retry();
  /// To be called where no later save will make up for what is missing: retries up to four times within three
  /// seconds, because a disk or a network often fails for a moment only.
  void insist();
  /// Forgets a file that is no longer wanted.
  void forget(const std::filesystem::path& file);

  bool all_written() const { return due_.empty(); }
  /// Throws InputError when files could not be written at the last attempt: it names them, and says what can be done with
  /// the run.
  void check(const RunFolder& run) const;

 private:
  struct Due {
    /// Writes the file; empty when it is not kept.
    std::function<void()> write;
    uint64_t bytes = 0;
    std::string reason;
  };

  /// Calls `write`, and returns whether it succeeded.
  bool attempt(const std::filesystem::path& file, uint64_t bytes, const std::function<void()>& write);
  void report(const std::filesystem::path& file, const Due& due);
  void report_end();

  std::map<std::filesystem::path, Due> due_;
  /// The reasons that were reported, and the files that failed, since the first failure.
  std::set<std::string> reported_;
  std::set<std::filesystem::path> failed_;
};

/// Free bytes where `file` is, for this user; none when that cannot be found out.
std::optional<uint64_t> free_bytes(const std::filesystem::path& file);

}  // namespace brightnet
