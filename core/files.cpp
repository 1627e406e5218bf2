#include "core/files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"

namespace brightnet {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file, const std::string& reason) {
  throw InputError("this file cannot be written: " + reason, file.string(),
                   "Check that the folder exists, that you may write there and that the disk is not full.");
}

void flush_to_disk(const std::filesystem::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags);
  if (descriptor < 0) cannot_write(path, std::strerror(errno));
  const int failed = ::fsync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  if (failed != 0 && reason != EINVAL) cannot_write(path, std::strerror(reason));
}

/// Makes an empty file that was not there before: process ids repeat among machines that share a folder.
std::filesystem::path create_temporary(const std::filesystem::path& file) {
  for (int number = 0;; ++number) {
    std::filesystem::path path = file;
    path += '.' + std::to_string(::getpid()) + '-' + std::to_string(number) + ".tmp";
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      ::close(descriptor);
      return path;
    }
    if (errno != EEXIST) cannot_write(file, std::strerror(errno));
  }
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path file)
    : file_(std::move(file)), temporary_(create_temporary(file_)) {
  out_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!out_) cannot_write(file_, std::strerror(errno));
}

bool AtomicFile::is_temporary(const std::filesystem::path& file) {
  static const std::regex pattern(R"(.+\.[0-9]+-[0-9]+\.tmp)");
  return std::regex_match(file.filename().string(), pattern);
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  out_.flush();
  if (!out_) cannot_write(file_, std::strerror(errno));
  out_.close();
  flush_to_disk(temporary_, O_RDONLY);
  std::error_code error;
  std::filesystem::rename(temporary_, file_, error);
  if (error) cannot_write(file_, error.message());
  committed_ = true;
  const auto folder = file_.parent_path();
  flush_to_disk(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

void write_atomically(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write) {
  AtomicFile atomic(file);
  write(atomic.stream());
  atomic.commit();
}

void write_atomically(const std::filesystem::path& file, const std::string& content) {
  write_atomically(file, [&content](std::ostream& out) { out << content; });
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError("this is a folder, and a file was expected", file.string());
  if (!in) throw InputError("this file cannot be read", file.string(), "Check the path and its permissions.");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace brightnet
