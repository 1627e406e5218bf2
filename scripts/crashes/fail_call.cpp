// A library for LD_PRELOAD that lets one call fail, once, of those that open, write, flush, close, rename, delete or make
// files below a folder, whichever process of the command and whichever thread makes it. scripts/test_crashes compiles it. Unlike
// strace, which counts the calls of each thread for itself and sees no fclose(), it names a call by what it does to which
// file, and by how many of these there were before: the same call in each run.
//
//   FAIL_BELOW=FOLDER   the folder
//   FAIL_LOG=FILE       each call is a line there: "CALL PATH", the path as a pattern (see pattern_of())
//   FAIL_CALL=CALL, FAIL_PATH=PATTERN, FAIL_NUMBER=N
//                       the call that fails: number N, from 1 on, of those with this name and this pattern
//   FAIL_ERROR=ERRNO    its errno; 0: it succeeds, and writes half of its bytes
//   FAIL_COUNT=FILE     how many of these calls there were, in 8 bytes that all processes of the command share
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr size_t longest = 4096;
constexpr int goes_on = -1, half = 0;  // else an errno

/// Leaves errno as it was: the program must see only its own failures.
struct KeptErrno {
  ~KeptErrno() { errno = value; }
  const int value = errno;
};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// A path below FAIL_BELOW, with '#' for numbers that differ from run to run: those of three digits or more, and all in the
/// names of temporary files.
void pattern_of(const char* path, char* out) {
  const char* slash = std::strrchr(path, '/');
  const char* const name = slash ? slash + 1 : path;
  const size_t length = std::strlen(name);
  const bool temporary = length > 4 && std::strcmp(name + length - 4, ".tmp") == 0;
  while (*path) {
    const char* end = path;
    while (is_digit(*end)) ++end;
    if (end - path >= 3 || (end > path && temporary && path >= name)) {
      *out++ = '#';
      path = end;
    } else {
      *out++ = *path == ' ' ? '_' : *path;
      ++path;
    }
  }
  *out = '\0';
}

void path_of(int descriptor, char* out) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, out, longest - 1);
  out[std::max<ssize_t>(0, length)] = '\0';
}

void path_at(int folder, const char* path, char* out) {
  if (path[0] == '/') {
    std::snprintf(out, longest, "%s", path);
    return;
  }
  if (folder == AT_FDCWD) {
    if (!::getcwd(out, longest)) out[0] = '\0';
  } else {
    path_of(folder, out);
  }
  const size_t length = std::strlen(out);
  std::snprintf(out + length, longest - length, "/%s", path);
}

/// How many calls of the wanted kind there were, this one included.
long count_call() {
  static std::atomic<long>* const count = [] {
    const char* file = std::getenv("FAIL_COUNT");
    const long descriptor = file ? ::syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC) : -1;
    void* shared = descriptor < 0 ? MAP_FAILED
                                  : ::mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED,
                                           static_cast<int>(descriptor), 0);
    if (descriptor >= 0) ::syscall(SYS_close, descriptor);
    return shared == MAP_FAILED ? nullptr : static_cast<std::atomic<long>*>(shared);
  }();
  return count ? ++*count : 0;
}

void log_call(const char* file, const char* call, const char* pattern) {
  char line[longest + 64];
  const int length = std::snprintf(line, sizeof line, "%s %s\n", call, pattern);
  const long descriptor =
      ::syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return;
  ::syscall(SYS_write, descriptor, line, static_cast<size_t>(length));
  ::syscall(SYS_close, descriptor);
}

/// What becomes of a call that concerns a path: goes_on, half, or the errno that it fails with.
int fate_of(const char* call, const char* path) {
  const KeptErrno kept;
  const char* below = std::getenv("FAIL_BELOW");
  const size_t length = below ? std::strlen(below) : 0;
  if (length == 0 || std::strncmp(path, below, length) != 0) return goes_on;
  if (path[length] != '/' && path[length] != '\0') return goes_on;
  char pattern[longest];
  pattern_of(path[length] == '/' ? path + length + 1 : path + length, pattern);
  if (const char* file = std::getenv("FAIL_LOG")) log_call(file, call, pattern);
  const char *wanted = std::getenv("FAIL_CALL"), *where = std::getenv("FAIL_PATH");
  if (!wanted || !where || std::strcmp(call, wanted) != 0 || std::strcmp(pattern, where) != 0) return goes_on;
  const char *number = std::getenv("FAIL_NUMBER"), *error = std::getenv("FAIL_ERROR");
  return number && error && count_call() == std::atol(number) ? std::atoi(error) : goes_on;
}

int fate_of(const char* call, int descriptor) {
  const KeptErrno kept;
  char path[longest];
  path_of(descriptor, path);
  return fate_of(call, path);
}

int fate_at(const char* call, int folder, const char* path) {
  const KeptErrno kept;
  char whole[longest];
  path_at(folder, path, whole);
  return fate_of(call, whole);
}

bool fails(int fate) {
  if (fate > 0) errno = fate;
  return fate > 0;
}

/// Half of the bytes, for a write that is to be a short one; at least one, since none would mean something else.
size_t shortened(size_t bytes, int fate) {
  return fate == half && bytes > 1 ? bytes / 2 : bytes;
}

mode_t mode_in(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

}  // namespace

/// The function of that name that would have been called.
#define NEXT(name) reinterpret_cast<decltype(&::name)>(::dlsym(RTLD_NEXT, #name))

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const int fate = fate_of("write", descriptor);
  return fails(fate) ? -1 : ::syscall(SYS_write, descriptor, bytes, shortened(count, fate));
}
ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  const int fate = fate_of("pwrite", descriptor);
  return fails(fate) ? -1 : ::syscall(SYS_pwrite64, descriptor, bytes, shortened(count, fate), at);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t at) {
  return pwrite(descriptor, bytes, count, at);
}
ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  const int fate = fate_of("writev", descriptor);
  if (fails(fate)) return -1;
  if (fate != half || count < 1) return ::syscall(SYS_writev, descriptor, parts, count);
  return ::syscall(SYS_write, descriptor, parts[0].iov_base, shortened(parts[0].iov_len, fate));
}
ssize_t sendfile(int to, int from, off_t* at, size_t count) {
  const int fate = fate_of("sendfile", to);
  return fails(fate) ? -1 : ::syscall(SYS_sendfile, to, from, at, shortened(count, fate));
}
ssize_t sendfile64(int to, int from, off64_t* at, size_t count) {
  return sendfile(to, from, at, count);
}
ssize_t copy_file_range(int from, off64_t* at, int to, off64_t* place, size_t count, unsigned flags) {
  const int fate = fate_of("copy_file_range", to);
  return fails(fate) ? -1
                     : ::syscall(SYS_copy_file_range, from, at, to, place, shortened(count, fate), flags);
}
int fsync(int descriptor) {
  return fails(fate_of("fsync", descriptor)) ? -1 : static_cast<int>(::syscall(SYS_fsync, descriptor));
}
int fdatasync(int descriptor) {
  return fails(fate_of("fdatasync", descriptor)) ? -1
                                                 : static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}
int ftruncate(int descriptor, off_t size) {
  return fails(fate_of("ftruncate", descriptor))
             ? -1
             : static_cast<int>(::syscall(SYS_ftruncate, descriptor, size));
}
int ftruncate64(int descriptor, off64_t size) {
  return ftruncate(descriptor, size);
}
/// As Linux does, which has released the descriptor when it says that something was lost.
int close(int descriptor) {
  const int fate = fate_of("close", descriptor);
  const int closed = static_cast<int>(::syscall(SYS_close, descriptor));
  return fails(fate) ? -1 : closed;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  if (fails(fate_at("open", AT_FDCWD, path))) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  return open(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  if (fails(fate_at("open", folder, path))) return -1;
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_in(flags, more);
  va_end(more);
  return openat(folder, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int rename(const char* from, const char* to) {
  return fails(fate_at("rename", AT_FDCWD, to)) ? -1 : static_cast<int>(::syscall(SYS_rename, from, to));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (fails(fate_at("rename", to_folder, to))) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
int mkdir(const char* path, mode_t mode) {
  return fails(fate_at("mkdir", AT_FDCWD, path)) ? -1 : static_cast<int>(::syscall(SYS_mkdir, path, mode));
}
int rmdir(const char* path) {
  return fails(fate_at("unlink", AT_FDCWD, path)) ? -1 : static_cast<int>(::syscall(SYS_rmdir, path));
}
int unlink(const char* path) {
  return fails(fate_at("unlink", AT_FDCWD, path)) ? -1 : static_cast<int>(::syscall(SYS_unlink, path));
}
int unlinkat(int folder, const char* path, int flags) {
  return fails(fate_at("unlink", folder, path))
             ? -1
             : static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}
int remove(const char* path) {
  return fails(fate_at("unlink", AT_FDCWD, path)) ? -1 : NEXT(remove)(path);
}
int link(const char* from, const char* to) {
  return fails(fate_at("link", AT_FDCWD, to)) ? -1 : static_cast<int>(::syscall(SYS_link, from, to));
}
int symlink(const char* target, const char* path) {
  return fails(fate_at("symlink", AT_FDCWD, path)) ? -1
                                                   : static_cast<int>(::syscall(SYS_symlink, target, path));
}

// The C library's own streams call none of the functions above.
FILE* fopen(const char* path, const char* mode) {
  return fails(fate_at("fopen", AT_FDCWD, path)) ? nullptr : NEXT(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return fopen(path, mode);
}
size_t fwrite(const void* bytes, size_t size, size_t count, FILE* file) {
  const int fate = fate_of("fwrite", ::fileno(file));
  if (fails(fate)) return 0;
  return NEXT(fwrite)(bytes, size, shortened(count, fate), file);
}
int fflush(FILE* file) {
  return file && fails(fate_of("fflush", ::fileno(file))) ? EOF : NEXT(fflush)(file);
}
int fclose(FILE* file) {
  const int fate = fate_of("fclose", ::fileno(file));
  const int closed = NEXT(fclose)(file);
  return fails(fate) ? EOF : closed;
}
}
