#include "tests/cuda_emulation/traffic.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/memory.h"

namespace brightnet::emulation {
namespace {

constexpr uint8_t was_read = 1, was_written = 2;

int counting = 0;        ///< CountTraffic objects
bool in_launch = false;  ///< its accesses are recorded now
std::vector<CountedLaunch> counted;

/// What this launch did to each byte of an allocation, and which blocks have such bytes: a launch touches little of a large
/// allocation.
struct Touched {
  static constexpr size_t block = 1024;
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> blocks;

  explicit Touched(size_t count) : bytes(count), blocks((count + block - 1) / block) {}
  /// Visits the bytes of the blocks that were touched.
  template <typename Visit>
  void visit(const Visit& visit) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (!blocks[i]) continue;
      for (size_t at = i * block; at < std::min(bytes.size(), (i + 1) * block); ++at) visit(bytes[at]);
    }
  }
};
/// By the allocation's address, which is never given out again.
std::map<unsigned char*, Touched> touched;
unsigned char *last_begin = nullptr, *last_end = nullptr;
Touched* last = nullptr;

bool find_touched(unsigned char* address) {
  if (address >= last_begin && address < last_end) return true;
  const DeviceRange range = device_range(address);
  if (!range.data) return false;
  last = &touched.try_emplace(range.data, range.bytes).first->second;
  last_begin = range.data;
  last_end = range.data + range.bytes;
  return true;
}

/// `aligned`: the compiler took the address for a multiple of the size.
void record(void* address, size_t count, uint8_t access, bool aligned) {
  check_plain_access(address, count, aligned ? count : 1);
  if (!in_launch) return;
  auto* const begin = static_cast<unsigned char*>(address);
  if (!find_touched(begin)) return;
  const auto first = static_cast<size_t>(begin - last_begin),
             end = std::min(first + count, last->bytes.size());
  for (size_t i = first; i < end; ++i) {
    uint8_t& byte = last->bytes[i];
    // Reading what this launch has written costs nothing.
    if (access == was_written || !(byte & was_written)) byte |= access;
    last->blocks[i / Touched::block] = true;
  }
}

void forget() {
  for (auto& [begin, allocation] : touched) {
    allocation.visit([](uint8_t& byte) { byte = 0; });
    std::fill(allocation.blocks.begin(), allocation.blocks.end(), uint8_t{0});
  }
  last_begin = last_end = nullptr;
  last = nullptr;
}

}  // namespace

CountTraffic::CountTraffic() {
  if (counting++ == 0) counted.clear();
}
CountTraffic::~CountTraffic() {
  --counting;
}
bool CountTraffic::available() {
#ifdef BRIGHTNET_COUNTS_ACCESSES
  return true;
#else
  return false;
#endif
}
const std::vector<CountedLaunch>& CountTraffic::launches() {
  return counted;
}

bool counts_traffic() {
  return counting > 0;
}
void begin_counting() {
  if (counting == 0) return;
  forget();
  in_launch = true;
}
void end_counting(const std::string& where, const Traffic* stated) {
  if (counting == 0) return;
  in_launch = false;
  CountedLaunch launch{where, stated != nullptr, stated ? *stated : Traffic{}, {}};
  for (auto& [begin, allocation] : touched) {
    allocation.visit([&](uint8_t byte) {
      launch.counted.read += (byte & was_read) != 0;
      launch.counted.written += (byte & was_written) != 0;
    });
  }
  counted.push_back(launch);
  forget();
}
void count_transfer(const Traffic& traffic) {
  if (counting > 0) counted.push_back({"a copy or a fill", true, traffic, traffic});
}

}  // namespace brightnet::emulation

// What g++ and clang call before each access of a source file compiled with -fsanitize=thread. The sanitizer's
// library is not linked.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define BRIGHTNET_ACCESS(name, count, aligned)                                                \
  void __tsan_##name##read##count(void* address) {                                            \
    brightnet::emulation::record(address, count, brightnet::emulation::was_read, aligned);    \
  }                                                                                           \
  void __tsan_##name##write##count(void* address) {                                           \
    brightnet::emulation::record(address, count, brightnet::emulation::was_written, aligned); \
  }
BRIGHTNET_ACCESS(, 1, true)
BRIGHTNET_ACCESS(, 2, true)
BRIGHTNET_ACCESS(, 4, true)
BRIGHTNET_ACCESS(, 8, true)
BRIGHTNET_ACCESS(, 16, true)
BRIGHTNET_ACCESS(unaligned_, 2, false)
BRIGHTNET_ACCESS(unaligned_, 4, false)
BRIGHTNET_ACCESS(unaligned_, 8, false)
BRIGHTNET_ACCESS(unaligned_, 16, false)
#undef BRIGHTNET_ACCESS
void __tsan_read_range(void* address, unsigned long count) {
  brightnet::emulation::record(address, count, brightnet::emulation::was_read, false);
}
void __tsan_write_range(void* address, unsigned long count) {
  brightnet::emulation::record(address, count, brightnet::emulation::was_written, false);
}

// Of the host's part of these files, which counts the owners of a launch's arguments.
unsigned __tsan_atomic32_fetch_add(volatile void* address, unsigned value, int) {
  return __atomic_fetch_add(static_cast<volatile unsigned*>(address), value, __ATOMIC_SEQ_CST);
}
unsigned __tsan_atomic32_fetch_sub(volatile void* address, unsigned value, int) {
  return __atomic_fetch_sub(static_cast<volatile unsigned*>(address), value, __ATOMIC_SEQ_CST);
}
unsigned __tsan_atomic32_load(const volatile void* address, int) {
  return __atomic_load_n(static_cast<const volatile unsigned*>(address), __ATOMIC_SEQ_CST);
}
unsigned char __tsan_atomic8_load(const volatile void* address, int) {
  return __atomic_load_n(static_cast<const volatile unsigned char*>(address), __ATOMIC_SEQ_CST);
}

}  // extern "C"
