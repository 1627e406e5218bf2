// Files: written whole or not at all, read, and looked for.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace brightnet {

/// Writes to a temporary file beside FILE, flushes it to the disk and renames it over FILE, so that a
/// reader finds the old or the new content, never a part of it, also after a power cut. Throws InputError when the
/// place is not writable or full; the old content is then untouched.
void write_atomically(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);
void write_atomically(const std::filesystem::path& file, const std::string& content);

/// The same for what is written piece by piece: the temporary file becomes FILE at commit(), and is removed
/// if that is never called. Two programs that write the same FILE use different temporary files.
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

  /// Whether a file is named as these temporary files are: "NAME.PROCESS-NUMBER.tmp". One that no process
  /// writes any more was left by a program that was killed.
  static bool is_temporary(const std::filesystem::path& file);

 private:
  std::filesystem::path file_, temporary_;
  std::ofstream out_;
  bool committed_ = false;
};

/// The whole file; throws InputError when it cannot be read.
std::string read_file(const std::filesystem::path& file);

/// A line of a text file, without spaces around it.
struct TextLine {
  std::string text;
  int number = 0;  ///< from 1
};

/// The lines that are not blank, without byte-order mark and carriage returns. Throws InputError when the
/// file cannot be read.
std::vector<TextLine> read_lines(const std::filesystem::path& file);

/// `file` with a line number.
std::string at_line(const std::filesystem::path& file, int line);

/// `path` as it is when absolute; else the first of folder/path and ./path that exists (`here_first`: the
/// other way round). Empty when neither does.
std::filesystem::path find_path(const std::string& path, const std::filesystem::path& folder,
                                bool here_first);

/// The first of FOLDER/path that exists, or the path itself when it is absolute; the first, existing or not,
/// when none does. Backslashes of lists made on Windows are read as slashes when that is what finds the file.
std::filesystem::path find_below(const std::string& path, const std::vector<std::filesystem::path>& folders);

}  // namespace brightnet
