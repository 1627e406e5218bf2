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

void write_atomically(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write) {
  std::filesystem::path temporary = file;
  temporary += ".tmp";
  try {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    if (!out) cannot_write(file, std::strerror(errno));
    write(out);
    out.flush();
    if (!out) cannot_write(file, std::strerror(errno));
    out.close();
    flush_to_disk(temporary, O_RDONLY);
    std::filesystem::rename(temporary, file);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  const auto folder = file.parent_path();
  flush_to_disk(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
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
