// Writing files atomically, reading them, and finding them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/descriptor.h"

namespace brightnet {

/// Writes to a temporary file beside FILE, flushes it to disk and renames it over FILE: a reader sees the old
/// or the new content, never a part of it, even after a power failure. Throws InputError when the folder is
/// not writable or the disk is full; the old content is then untouched.
void write_atomically(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);
void write_atomically(const std::filesystem::path& file, const std::string& content);

/// Like write_atomically(), but unflushed: after a power failure FILE may have any content. For thousands of
/// files that can be made again, since flushing each takes longer than making it.
void write_unflushed(const std::filesystem::path& file, const std::string& content);

/// Adds the bytes to the end of FILE, which is created if missing: all of them, or none. Throws InputError as
/// write_atomically() does, and at once where FILE is a symbolic link, a pipe or a device; the file then ends as before.
void append_to_file(const std::filesystem::path& file, std::string_view bytes);

/// Flushes what was appended to FILE so far to the disk, if it is there. Throws InputError when that fails.
void flush_file(const std::filesystem::path& file);

/// Flushes the names in a folder to the disk. Throws InputError when that fails.
void flush_folder(const std::filesystem::path& folder);

/// std::filesystem::create_directories(), whose new folders are also there after a power failure.
void create_folders(const std::filesystem::path& folder, std::error_code& error);

/// Opens FILE for writing, with these flags of open(2), and never what a symbolic link of this name leads to: a folder
/// from somebody else may have one to a file of the user's. -1, with errno, on failure; a link throws InputError.
int open_no_link(const std::filesystem::path& file, int flags);

/// A folder, locked until what is returned goes: any other who calls this for it waits, in this process too. One that cannot
/// be locked, or that is held for two seconds, by a stopped process say, is returned as it is: for what is worth less than
/// the work that waits.
Descriptor lock_folder(const std::filesystem::path& folder);

/// The calls that close a written file and flush a file or folder; tests replace them to fail or to count.
extern int (*close_written)(int descriptor);
extern int (*flush_written)(int descriptor);

/// write_atomically() for incremental writing: commit() renames the temporary file to FILE; without it the
/// file is removed. Processes that write the same FILE use different temporary files.
class AtomicFile {
 public:
  /// Throws InputError when the file cannot be created.
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::ostream& stream() { return out_; }
  /// Renames the file, flushed or as write_unflushed(). Throws InputError when something was not written.
  void commit(bool flushed = true);

  /// Whether `file` is named like these temporary files, "NAME.PROCESS-NUMBER.tmp": a killed process
  /// leaves one.
  static bool is_temporary(const std::filesystem::path& file);

 private:
  class Buffer;

  std::filesystem::path file_, temporary_;
  std::unique_ptr<Buffer> buffer_;
  std::ostream out_;
  bool committed_ = false;
};

/// A folder for temporary files, which goes with all that is in it at the end of its scope.
class ScratchFolder {
 public:
  /// Throws InputError where none can be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The largest file that is read whole: one of labels or a description, and a list or table of a whole data set.
constexpr uint64_t most_text_bytes = uint64_t{64} << 20;
constexpr uint64_t most_list_bytes = uint64_t{16} << 30;

/// Reads a whole file. Throws InputError when it cannot be read, is larger than `most`, or is no regular
/// file: a pipe would be waited for, and a device such as /dev/zero has no end.
std::string read_file(const std::filesystem::path& file, uint64_t most = most_text_bytes);

/// Throws what read_file() throws for a folder, a pipe and a device; not for what is no file at all.
void refuse_irregular(const std::filesystem::path& file);

/// A stream of a regular file's bytes; of anything else, one that has failed.
std::ifstream open_regular(const std::filesystem::path& file);

/// The same, with the file's length. Throws InputError when it cannot be read.
std::ifstream open_sized(const std::filesystem::path& file, uint64_t& bytes);

/// A line of a text file, trimmed.
struct TextLine {
  std::string text;
  int number = 0;  ///< line number in the file, from 1
};

/// The non-blank lines of a text, without byte-order mark and carriage returns.
std::vector<TextLine> lines_of(std::string_view text);

/// The non-blank lines of a file. Throws what read_file() throws, and InputError for UTF-16.
std::vector<TextLine> read_lines(const std::filesystem::path& file, uint64_t most = most_text_bytes);

/// "file:line".
std::string at_line(const std::filesystem::path& file, int line);

/// Whether there is something of this path, and whether it is a folder, links followed. What cannot be found out is not there:
/// a link to itself, a name that is too long, what lies in a folder that may not be read.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

/// The first of folder/path and ./path that exists (`here_first`: in the opposite order), as an absolute
/// path; empty when neither does. An absolute `path` stands for both. Backslashes (paths written on Windows) are read as
/// slashes where only that finds the file.
std::filesystem::path find_path(const std::string& path, const std::filesystem::path& folder,
                                bool here_first);

/// The path in its normal form, without a slash at its end.
std::filesystem::path without_slash(const std::filesystem::path& path);

/// Whether a path is this folder or lies in it at any depth, links on the way considered. Neither need exist.
bool lies_in(const std::filesystem::path& inner, const std::filesystem::path& folder);

/// The first existing FOLDER/path, else that of the first folder; an absolute path stays as it is.
/// Backslashes (lists written on Windows) are read as slashes where only that finds the file.
std::filesystem::path find_below(const std::string& path, const std::vector<std::filesystem::path>& folders);

/// FILE's path without symbolic links, equal for all that lead to it; FILE itself where it cannot be found.
std::filesystem::path real_path(const std::filesystem::path& file);

}  // namespace brightnet
