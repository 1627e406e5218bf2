// A library for LD_PRELOAD that lets one allocation fail, once (fail_call.cpp: what is called to write files).
// scripts/test_crashes compiles it. What happens before main() is left alone: the loader and the libraries' initialisers
// have nobody yet who could tell the user.
//
//   FAIL_ALLOCATION=N   allocation N of the process from main() on, counted from 1, gets no memory, or the first one behind it
//                       that is not made by or for fontconfig, oneDNN, GDAL or NCCL, which do not look at what they get
//   FAIL_TRACE=1        the calls that lead to that allocation are printed
//   FAIL_REPORT=FILE    at the end of main(): their number is written there
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

// The C library's own names: looking up the next malloc() would allocate.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<bool> counting{false}, failed{false};
std::atomic<long> allocations{0};
long failing_allocation = 0;
int (*program)(int, char**, char**) = nullptr;

long number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atol(text) : 0;
}

bool is_for_careless_library() {
  constexpr const char* careless[] = {"libfontconfig", "libdnnl", "libgdal", "libnccl"};
  void* callers[64];
  const int count = ::backtrace(callers, 64);
  if (std::getenv("FAIL_TRACE")) ::backtrace_symbols_fd(callers, count, STDERR_FILENO);
  for (int i = 0; i < count; ++i) {
    Dl_info info{};
    if (::dladdr(callers[i], &info) == 0 || !info.dli_fname) continue;
    for (const char* name : careless) {
      if (std::strstr(info.dli_fname, name)) return true;
    }
  }
  return false;
}

bool fails() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  if (++allocations < failing_allocation || failing_allocation == 0 || failed) return false;
  failed = true;  // first, since backtrace() allocates as well
  if (is_for_careless_library()) {
    failed = false;  // the next one
    return false;
  }
  errno = ENOMEM;
  return true;
}

int counted_main(int count, char** arguments, char** environment) {
  failing_allocation = number_in("FAIL_ALLOCATION");
  counting = true;
  const int code = program(count, arguments, environment);
  counting = false;
  if (const char* report = std::getenv("FAIL_REPORT")) {
    if (std::FILE* file = std::fopen(report, "w")) {
      std::fprintf(file, "%ld\n", allocations.load());
      std::fclose(file);
    }
  }
  return code;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
  return fails() ? nullptr : __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  return fails() ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  return fails() ? nullptr : __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  if (fails()) return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

int __libc_start_main(int (*main)(int, char**, char**), int count, char** arguments, void (*init)(),
                      void (*fini)(), void (*loader_fini)(), void* stack_end) {
  const auto start = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  program = main;
  return start(counted_main, count, arguments, init, fini, loader_fini, stack_end);
}
}
