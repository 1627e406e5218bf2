#include "core/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot_write(const fs::path& file, const std::string& reason) {
  throw InputError("this file cannot be written: " + reason, file.string(),
                   "Check that the folder exists, that you may write there and that the disk is not full.");
}

void flush_to_disk(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags);
  if (descriptor < 0) cannot_write(path, std::strerror(errno));
  const int failed = ::fsync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  if (failed != 0 && reason != EINVAL) cannot_write(path, std::strerror(reason));
}

/// Creates a new empty file. Process ids alone do not make names unique: several machines may share
/// the folder.
fs::path create_temporary(const fs::path& file) {
  for (int number = 0;; ++number) {
    fs::path path = file;
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

AtomicFile::AtomicFile(fs::path file) : file_(std::move(file)), temporary_(create_temporary(file_)) {
  out_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!out_) cannot_write(file_, std::strerror(errno));
}

bool AtomicFile::is_temporary(const fs::path& file) {
  static const std::regex pattern(R"(.+\.[0-9]+-[0-9]+\.tmp)");
  return std::regex_match(file.filename().string(), pattern);
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  out_.close();
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  out_.flush();
  if (!out_) cannot_write(file_, std::strerror(errno));
  out_.close();
  flush_to_disk(temporary_, O_RDONLY);
  std::error_code error;
  fs::rename(temporary_, file_, error);
  if (error) cannot_write(file_, error.message());
  committed_ = true;
  const auto folder = file_.parent_path();
  flush_to_disk(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

void write_atomically(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  AtomicFile atomic(file);
  write(atomic.stream());
  atomic.commit();
}

void write_atomically(const fs::path& file, const std::string& content) {
  write_atomically(file, [&content](std::ostream& out) { out << content; });
}

void append_to_file(const fs::path& file, std::string_view bytes) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) cannot_write(file, std::strerror(errno));
  const off_t before = ::lseek(descriptor, 0, SEEK_END);
  int failure = 0;
  while (!bytes.empty() && failure == 0) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  if (::close(descriptor) != 0 && failure == 0) failure = errno;  // where quotas are checked (NFS)
  if (failure == 0) return;
  if (before >= 0) static_cast<void>(!::truncate(file.c_str(), before));
  cannot_write(file, std::strerror(failure));
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  if (fs::is_directory(file, error))
    throw InputError("this is a folder, and a file was expected", file.string());
  if (!in) throw InputError("this file cannot be read", file.string(), "Check the path and its permissions.");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<TextLine> read_lines(const fs::path& file) {
  const std::string content = read_file(file);
  std::string_view rest = content;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  std::vector<TextLine> lines;
  for (int number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = trimmed(rest.substr(0, end));
    if (!text.empty()) lines.push_back({std::string(text), number});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

std::string at_line(const fs::path& file, int line) {
  return file.string() + ':' + std::to_string(line);
}

fs::path find_path(const std::string& path, const fs::path& folder, bool here_first) {
  const fs::path beside = folder / path, here = path;
  for (const auto& candidate : here_first ? std::vector{here, beside} : std::vector{beside, here}) {
    std::error_code ignored;
    if (fs::exists(candidate, ignored)) return fs::absolute(candidate).lexically_normal();
  }
  return {};
}

fs::path find_below(const std::string& path, const std::vector<fs::path>& folders) {
  std::vector<std::string> spellings{path};
  if (path.find('\\') != std::string::npos) {
    spellings.push_back(path);
    std::replace(spellings.back().begin(), spellings.back().end(), '\\', '/');
  }
  std::error_code failed;
  for (const auto& spelling : spellings) {
    for (const auto& folder : folders) {
      const fs::path candidate = (folder / spelling).lexically_normal();  // an absolute path stays as it is
      if (fs::exists(candidate, failed)) return candidate;
    }
  }
  return folders.empty() ? fs::path(path) : (folders.front() / path).lexically_normal();
}

fs::path real_path(const fs::path& file) {
  std::error_code failed;
  const fs::path real = fs::canonical(file, failed);
  return failed ? file : real;
}

}  // namespace brightnet
