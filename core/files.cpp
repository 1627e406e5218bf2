#include "core/files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
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

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path file) : file_(std::move(file)), temporary_(file_) {
  temporary_ += ".tmp";
  out_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!out_) cannot_write(file_, std::strerror(errno));
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
  if (!in || std::filesystem::is_directory(file)) {
    throw InputError("this file cannot be read", file.string(), "Check the path and its permissions.");
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace brightnet
