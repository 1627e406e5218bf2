#include "core/files.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <regex>
#include <streambuf>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/text.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot_write(const fs::path& file, const std::string& reason) {
  throw InputError("this file cannot be written: " + reason, file.string(),
                   "Check that the folder exists, that you may write there and that the disk is not full.");
}

[[noreturn]] void cannot_read(const fs::path& file, int reason) {
  throw InputError(std::string("this file cannot be read: ") + std::strerror(reason), file.string(),
                   "Check the path and its permissions.");
}

/// Flushes the file; a file system that cannot flush (EINVAL) is not expected to.
void flush_to_disk(int descriptor, const fs::path& file) {
  int failed = 0;
  do failed = flush_written(descriptor);
  while (failed != 0 && errno == EINTR);
  if (failed != 0 && errno != EINVAL) cannot_write(file, std::strerror(errno));
}

/// Writes all of it. 0, or the reason why not.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// 0, or the reason why what was written may not be there: where quotas and networks are involved, closing tells.
int close_checked(int descriptor) {
  return close_written(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

/// Creates a new empty file, and opens it. Process ids alone do not make names unique: several machines may share
/// the folder.
int create_temporary(const fs::path& file, fs::path& temporary) {
  for (int number = 0;; ++number) {
    const std::string ending = '.' + std::to_string(::getpid()) + '-' + std::to_string(number) + ".tmp";
    std::string name = file.filename().string();
    // The longest names that a file may have leave no room for the ending. A longer one is refused when it is opened.
    if (name.size() <= NAME_MAX) name.resize(std::min(name.size(), NAME_MAX - ending.size()));
    temporary = file.parent_path() / (name + ending);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) cannot_write(file, std::strerror(errno));
  }
}

}  // namespace

int (*close_written)(int descriptor) = ::close;
int (*flush_written)(int descriptor) = ::fsync;

/// Writes into a descriptor, and knows the first reason why that failed.
class AtomicFile::Buffer : public std::streambuf {
 public:
  Buffer() : bytes_(1 << 16) { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
  ~Buffer() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void create(const fs::path& file, fs::path& temporary) { descriptor_ = create_temporary(file, temporary); }
  /// Throws unless all was written, and, where it is flushed, is on the disk.
  void finish(const fs::path& file, bool flushed) {
    write_out({});
    if (failure_ == 0 && flushed) flush_to_disk(descriptor_, file);
    const int closed = close_checked(std::exchange(descriptor_, -1));
    if (failure_ == 0) failure_ = closed;
    if (failure_ != 0) cannot_write(file, std::strerror(failure_));
  }

 protected:
  int_type overflow(int_type next) override {
    if (!write_out({})) return traits_type::eof();
    return traits_type::eq_int_type(next, traits_type::eof()) ? traits_type::not_eof(next)
                                                              : sputc(traits_type::to_char_type(next));
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::string_view bytes(text, static_cast<size_t>(count));
    if (count <= epptr() - pptr()) {
      std::copy(bytes.begin(), bytes.end(), pptr());
      pbump(static_cast<int>(count));
      return count;
    }
    return write_out(bytes) ? count : 0;
  }
  int sync() override { return write_out({}) ? 0 : -1; }

 private:
  /// What is buffered, and then these bytes.
  bool write_out(std::string_view bytes) {
    const std::string_view buffered(pbase(), static_cast<size_t>(pptr() - pbase()));
    for (const std::string_view part : {buffered, bytes}) {
      if (failure_ == 0) failure_ = write_all(descriptor_, part);
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return failure_ == 0;
  }

  std::vector<char> bytes_;
  int descriptor_ = -1;
  int failure_ = 0;
};

// Creating the file comes last: nothing after it can fail and leave the file behind.
AtomicFile::AtomicFile(fs::path file)
    : file_(std::move(file)), buffer_(std::make_unique<Buffer>()), out_(buffer_.get()) {
  buffer_->create(file_, temporary_);
}

bool AtomicFile::is_temporary(const fs::path& file) {
  static const std::regex pattern(R"(.+\.[0-9]+-[0-9]+\.tmp)");
  return std::regex_match(file.filename().string(), pattern);
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  buffer_.reset();
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void AtomicFile::commit(bool flushed) {
  buffer_->finish(file_, flushed);
  // A writer may have given up by itself.
  if (!out_) cannot_write(file_, "not all of it was written");
  std::error_code error;
  fs::rename(temporary_, file_, error);
  if (error) cannot_write(file_, error.message());
  committed_ = true;
  if (flushed) flush_folder(file_.parent_path());
}

void write_atomically(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  AtomicFile atomic(file);
  write(atomic.stream());
  atomic.commit();
}

void write_atomically(const fs::path& file, const std::string& content) {
  write_atomically(file, [&content](std::ostream& out) { out << content; });
}

void write_unflushed(const fs::path& file, const std::string& content) {
  AtomicFile atomic(file);
  atomic.stream() << content;
  atomic.commit(false);
}

int open_no_link(const fs::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0666);
  const int reason = errno;
  std::error_code ignored;
  if (descriptor < 0 && reason == ELOOP && fs::is_symlink(file, ignored)) {
    throw InputError("this is a symbolic link (to " + fs::read_symlink(file, ignored).string() +
                         "), and what it leads to is not written",
                     file.string(), "Remove the link, or put the file itself here.");
  }
  errno = reason;
  return descriptor;
}

void append_to_file(const fs::path& file, std::string_view bytes) {
  // O_NONBLOCK: nobody may read from a pipe, which another's folder may have in the file's place.
  const int descriptor = open_no_link(file, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK);
  if (descriptor < 0 && errno != ENXIO) cannot_write(file, std::strerror(errno));
  struct stat about {};
  if (descriptor < 0 || ::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    if (descriptor >= 0) ::close(descriptor);
    throw InputError("this is a pipe or a device, and only regular files are written", file.string(),
                     "Remove it, or name another place.");
  }
  const off_t before = ::lseek(descriptor, 0, SEEK_END);
  int failure = write_all(descriptor, bytes);
  if (failure != 0 && before >= 0) static_cast<void>(!::ftruncate(descriptor, before));
  const int closed = close_checked(descriptor);
  if (failure == 0 && closed != 0) {
    failure = closed;
    const int again = before < 0 ? -1 : ::open(file.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (again >= 0) {
      static_cast<void>(!::ftruncate(again, before));
      ::close(again);
    }
  }
  if (failure != 0) cannot_write(file, std::strerror(failure));
}

void flush_file(const fs::path& file) {
  const Descriptor opened{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (opened) flush_to_disk(opened.number(), file);
}

void flush_folder(const fs::path& folder) {
  const fs::path named = folder.empty() ? fs::path(".") : folder;
  const Descriptor opened{::open(named.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!opened) cannot_write(named, std::strerror(errno));
  flush_to_disk(opened.number(), named);
}

void create_folders(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (fs::path above = folder; above.has_filename() && !fs::exists(above, ignored);
       above = above.parent_path())
    missing.push_back(above);
  fs::create_directories(folder, error);
  for (size_t i = missing.size(); !error && i-- > 0;) flush_folder(missing[i].parent_path());
}

namespace {

void refuse_irregular(const fs::path& file, const struct stat& about) {
  if (S_ISDIR(about.st_mode)) throw InputError("this is a folder, and a file was expected", file.string());
  if (!S_ISREG(about.st_mode)) {
    throw InputError("this is a pipe or a device, and only regular files are read", file.string(),
                     "Write what it gives into a file, and name that.");
  }
}

}  // namespace

void refuse_irregular(const fs::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) == 0) refuse_irregular(file, about);
}

std::string read_file(const fs::path& file, uint64_t most) {
  // O_NONBLOCK: nobody may write into a pipe; with a regular file it changes nothing.
  const Descriptor in{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  struct stat about {};
  if (!in || ::fstat(in.number(), &about) != 0) cannot_read(file, errno);
  refuse_irregular(file, about);
  // One byte more than there should be, to see the end. Files of /proc say that they have none.
  std::string text;
  uint64_t wanted = static_cast<uint64_t>(about.st_size) + 1, have = 0;
  while (wanted <= most + 1) {
    text.resize(wanted);
    const ssize_t got = ::read(in.number(), text.data() + have, wanted - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(file, errno);
    have += got;
    if (got == 0) {
      text.resize(have);
      return text;
    }
    if (have == wanted) wanted = have > most ? most + 2 : std::min(most + 1, 2 * have + 4096);
  }
  throw InputError(
      fmt::format("this file is larger than {} MiB, the most that is read of one of its kind", most >> 20),
      file.string(), "Check whether it is the right file.");
}

std::ifstream open_regular(const fs::path& file) {
  std::error_code ignored;
  std::ifstream in;
  in.setstate(std::ios::failbit);
  if (fs::is_regular_file(file, ignored)) in.open(file, std::ios::binary);
  return in;
}

std::vector<TextLine> lines_of(std::string_view rest) {
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

std::vector<TextLine> read_lines(const fs::path& file, uint64_t most) {
  const std::string text = read_file(file, most);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw InputError("this text is in UTF-16, as PowerShell's > writes it", file.string(),
                     "Save it as UTF-8.");
  return lines_of(text);
}

std::string at_line(const fs::path& file, int line) {
  return file.string() + ':' + std::to_string(line);
}

/// The path as written and, where it has backslashes, with slashes in their place.
static std::vector<std::string> spellings_of(const std::string& path) {
  std::vector<std::string> spellings{path};
  if (path.find('\\') != std::string::npos) {
    spellings.push_back(path);
    std::replace(spellings.back().begin(), spellings.back().end(), '\\', '/');
  }
  return spellings;
}

fs::path find_path(const std::string& path, const fs::path& folder, bool here_first) {
  for (const std::string& spelling : spellings_of(path)) {
    const fs::path beside = folder / spelling, here = spelling;
    for (const auto& candidate : here_first ? std::vector{here, beside} : std::vector{beside, here}) {
      std::error_code ignored;
      if (fs::exists(candidate, ignored)) return fs::absolute(candidate).lexically_normal();
    }
  }
  return {};
}

bool lies_in(const fs::path& inner, const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  if (error) return false;
  const fs::path place = fs::weakly_canonical(inner, error);
  return !error && std::mismatch(whole.begin(), whole.end(), place.begin(), place.end()).first == whole.end();
}

fs::path find_below(const std::string& path, const std::vector<fs::path>& folders) {
  std::error_code failed;
  for (const std::string& spelling : spellings_of(path)) {
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
