// Files that are never half there.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>

namespace brightnet {

/// Writes to a temporary file beside FILE, flushes it to the disk and renames it over FILE, so that whoever
/// looks finds the old content or the new, never a part, also after a power cut. Throws InputError when the
/// place is not writable or full; the old content is then untouched.
void write_atomically(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);
void write_atomically(const std::filesystem::path& file, const std::string& content);

/// The same for what is written piece by piece: the temporary file becomes FILE at commit(), and is removed
/// when there never is one. Two programs that write the same FILE do not meet in it: it is each one's own.
class AtomicFile {
 public:
  /// Throws InputError when the place is not writable.
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::ostream& stream() { return out_; }
  /// Throws InputError when something could not be written.
  void commit();

  /// Whether a file is named as these temporary files are: "NAME.PROCESS-NUMBER.tmp". One that nobody writes
  /// any more was left by a program that was killed.
  static bool is_temporary(const std::filesystem::path& file);

 private:
  std::filesystem::path file_, temporary_;
  std::ofstream out_;
  bool committed_ = false;
};

/// The whole file; throws InputError when it cannot be read.
std::string read_file(const std::filesystem::path& file);

}  // namespace brightnet
