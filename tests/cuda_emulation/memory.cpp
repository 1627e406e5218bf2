// Every allocation has pages of its own, ends as near to the last page's end as its 256-byte alignment
// allows, and is followed by a page that is never open.
#include "tests/cuda_emulation/memory.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda_emulation/block.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace brightnet::emulation {
namespace {

constexpr size_t page = 4096, large_page = size_t{2} << 20, alignment = 256, margin = 64;
constexpr size_t address_space = size_t{1} << 40;
constexpr unsigned char untouched = 0xA5, undefined = 0xFF;

struct Allocation {
  unsigned char* data;
  size_t bytes;
  unsigned char* pages;
  size_t page_bytes;

  unsigned char* end() const { return data + bytes; }
};

class DeviceMemory {
 public:
  DeviceMemory() {
    void* reserved =
        mmap(nullptr, address_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw std::bad_alloc();
    begin_ = next_ = static_cast<unsigned char*>(reserved);
    explain_faults();
  }

  void* allocate(size_t bytes) {
    if (bytes > limit_ - std::min(limit_, used_)) return nullptr;
    const size_t rounded = (std::max(bytes, size_t{1}) + alignment - 1) / alignment * alignment;
    Allocation a{};
    a.page_bytes = (rounded + margin + page - 1) / page * page;
    // Opening and closing memory costs by the page.
    const bool large = a.page_bytes >= 2 * large_page;
    if (large) next_ += (large_page - reinterpret_cast<uintptr_t>(next_) % large_page) % large_page;
    a.pages = next_;
    a.data = a.pages + a.page_bytes - rounded;
    a.bytes = bytes;
    next_ += a.page_bytes + page;
    if (next_ > begin_ + address_space) throw std::bad_alloc();
    if (large) madvise(a.pages, a.page_bytes, MADV_HUGEPAGE);
    mprotect(a.pages, a.page_bytes, PROT_READ | PROT_WRITE);
    mark(a);
    std::memset(a.data, undefined, bytes);
    poison(a);
    if (open_ == 0) mprotect(a.pages, a.page_bytes, PROT_NONE);
    used_ += bytes;
    live_[a.data] = a;
    return a.data;
  }

  bool release(void* memory) {
    const auto found = live_.find(static_cast<unsigned char*>(memory));
    if (found == live_.end()) return false;
    const Allocation a = found->second;
    check_margin(a);
    ASAN_UNPOISON_MEMORY_REGION(a.pages, a.page_bytes);
    madvise(a.pages, a.page_bytes, MADV_DONTNEED);
    mprotect(a.pages, a.page_bytes, PROT_NONE);
    used_ -= a.bytes;
    live_.erase(found);
    last_ = nullptr;
    return true;
  }

  const Allocation* find(const void* address) {
    const auto* at = static_cast<const unsigned char*>(address);
    if (last_ && at >= last_->data && at < last_->end()) return last_;
    auto next = live_.upper_bound(const_cast<unsigned char*>(at));
    if (next == live_.begin()) return nullptr;
    last_ = &std::prev(next)->second;
    return at < last_->end() ? last_ : nullptr;
  }
  bool reserved(const void* address) const { return address >= begin_ && address < begin_ + address_space; }

  void open() {
    if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    if (--open_ == 0) protect(PROT_NONE);
  }

  void check_margins() {
    for (const auto& [data, allocation] : live_) check_margin(allocation);
  }

  const std::map<unsigned char*, Allocation>& live() const { return live_; }
  void set_limit(size_t bytes) { limit_ = bytes; }
  size_t limit() const { return limit_; }
  size_t used() const { return used_; }

 private:
  void protect(int access) {
    for (const auto& [data, a] : live_) mprotect(a.pages, a.page_bytes, access);
  }

  /// Fills the margins with what must be there later.
  __attribute__((no_sanitize("address"))) static void mark(const Allocation& a) {
    for (unsigned char* at = a.data - margin; at < a.data; ++at) *at = untouched;
    for (unsigned char* at = a.end(); at < a.pages + a.page_bytes; ++at) *at = untouched;
  }

  static void poison(const Allocation& a) {
    ASAN_POISON_MEMORY_REGION(a.pages, static_cast<size_t>(a.data - a.pages));
    ASAN_POISON_MEMORY_REGION(a.end(), static_cast<size_t>(a.pages + a.page_bytes - a.end()));
  }

  __attribute__((no_sanitize("address"))) void check_margin(const Allocation& a) {
    const bool was_open = open_ > 0;
    if (!was_open) mprotect(a.pages, a.page_bytes, PROT_READ | PROT_WRITE);
    bool whole = true;
    for (const unsigned char* at = a.data - margin; at < a.data; ++at) whole &= *at == untouched;
    for (const unsigned char* at = a.end(); at < a.pages + a.page_bytes; ++at) whole &= *at == untouched;
    if (!whole) mark(a);  // so that it is said once
    if (!was_open) mprotect(a.pages, a.page_bytes, PROT_NONE);
    if (!whole)
      throw Violation("something was written just outside of " + std::to_string(a.bytes) +
                      " bytes of device memory");
  }

  /// A fault in device memory gets its reason on stderr, and then the end it would have had.
  static void explain_faults();

  unsigned char *begin_ = nullptr, *next_ = nullptr;
  size_t limit_ = size_t{8} << 30, used_ = 0;
  int open_ = 0;
  std::map<unsigned char*, Allocation> live_;
  const Allocation* last_ = nullptr;
};

DeviceMemory& device() {
  static DeviceMemory only;
  return only;
}

struct sigaction previous_action;

void explain_fault(int signal, siginfo_t* information, void* context) {
  if (device().reserved(information->si_addr)) {
    const char text[] =
        "\nthe host touched device memory, or a kernel memory that was freed or lies beyond an allocation; "
        "only kernels and copies may touch it\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
  }
  if (previous_action.sa_flags & SA_SIGINFO)
    return previous_action.sa_sigaction(signal, information, context);
  sigaction(signal, &previous_action, nullptr);  // the access faults again, and is not caught
}

void DeviceMemory::explain_faults() {
  struct sigaction action {};
  action.sa_sigaction = explain_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &previous_action);
}

std::map<unsigned char*, size_t>& pinned() {
  static std::map<unsigned char*, size_t> live;
  return live;
}

/// Whether the word is the address of memory that the host uses. Small numbers and halves of floats are not,
/// nor what is merely reserved, as the address sanitizer does with terabytes.
bool is_host_address(uintptr_t word) {
  constexpr uintptr_t lowest = 0x5000'0000'0000, highest = 0x7fff'ffff'ffff;
  if (word < lowest || word > highest) return false;
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(word / page * page), 1, &resident) == 0 && (resident & 1) != 0;
}

}  // namespace

void* allocate_device(size_t bytes) {
  return device().allocate(bytes);
}
bool release_device(void* memory) {
  return device().release(memory);
}

void* allocate_pinned(size_t bytes) {
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  std::memset(memory, undefined, bytes);
  pinned()[static_cast<unsigned char*>(memory)] = bytes;
  return memory;
}
bool release_pinned(void* memory) {
  if (pinned().erase(static_cast<unsigned char*>(memory)) == 0) return false;
  std::free(memory);
  return true;
}

void set_device_memory(size_t bytes) {
  device().set_limit(bytes);
}
size_t device_memory() {
  return device().limit();
}
size_t allocated_device_memory() {
  return device().used();
}

DeviceRange device_range(const void* address) {
  if (!device().reserved(address)) return {};
  const Allocation* a = device().find(address);
  return a ? DeviceRange{a->data, a->bytes} : DeviceRange{};
}
bool is_device(const void* address, size_t bytes) {
  const Allocation* a = device().find(address);
  return a && static_cast<const unsigned char*>(address) + bytes <= a->end();
}
bool is_device_space(const void* address) {
  return device().reserved(address);
}
bool is_pinned(const void* address, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(address);
  return std::any_of(pinned().begin(), pinned().end(), [&](const auto& part) {
    return at >= part.first && at + bytes <= part.first + part.second;
  });
}

std::string describe_address(const void* address) {
  if (address == nullptr) return "a null pointer";
  if (const Allocation* a = device().find(address)) {
    return std::to_string(a->end() - static_cast<const unsigned char*>(address)) +
           " bytes before the end of " + std::to_string(a->bytes) + " bytes of device memory";
  }
  if (device().reserved(address)) return "device memory that was freed, or lies beyond an allocation";
  return "the host's memory";
}

OpenMemory::OpenMemory() {
  device().open();
}
OpenMemory::~OpenMemory() {
  device().close();
}

void check_margins() {
  device().check_margins();
}

void check_arguments(const std::vector<ArgumentBytes>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(arguments[i].data);
    for (size_t offset = 0; offset + sizeof(uintptr_t) <= arguments[i].bytes; offset += sizeof(uintptr_t)) {
      uintptr_t word = 0, values = 0;
      std::memcpy(&word, bytes + offset, sizeof word);
      std::memcpy(&values, arguments[i].values + offset, sizeof values);
      word &= values;
      const void* address = reinterpret_cast<const void*>(word);
      if (word == 0 || is_device_accessible(address, 0)) continue;
      const bool stray = !device().reserved(address) && !is_host_address(word);
      if (!arguments[i].is_pointer && stray) continue;
      throw Violation(
          "argument " + std::to_string(i + 1) +
          (arguments[i].is_pointer ? " is " : " holds, at byte " + std::to_string(offset) + ", ") +
          "a pointer to " + describe_address(address));
    }
  }
}

Snapshot Snapshot::take() {
  Snapshot snapshot;
  for (const auto& [data, a] : device().live()) snapshot.parts.push_back({data, {data, data + a.bytes}});
  for (const auto& [data, bytes] : pinned()) snapshot.parts.push_back({data, {data, data + bytes}});
  return snapshot;
}

void Snapshot::restore() const {
  for (const Part& part : parts) std::memcpy(part.at, part.bytes.data(), part.bytes.size());
}

const void* Snapshot::first_difference() const {
  for (const Part& part : parts) {
    if (std::memcmp(part.bytes.data(), part.at, part.bytes.size()) == 0) continue;
    const auto found = std::mismatch(part.bytes.begin(), part.bytes.end(), part.at);
    return found.second;
  }
  return nullptr;
}

}  // namespace brightnet::emulation
