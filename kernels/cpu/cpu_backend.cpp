#include "kernels/cpu/cpu_backend.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "core/alignment.h"
#include "core/clock.h"
#include "core/host_memory.h"

namespace brightnet::cpu {
namespace {

/// Operations are synchronous, so the last copy is already made.
class CpuReadback : public Readback {
 public:
  explicit CpuReadback(size_t bytes) : copy_(bytes) {}
  void request(const void* device) override {
    std::memcpy(copy_.data(), device, copy_.size());
    requested_ = true;
  }
  const void* value() override { return requested_ ? copy_.data() : nullptr; }

 private:
  std::vector<std::byte> copy_;
  bool requested_ = false;
};

class CpuWorkClock : public WorkClock {
 public:
  void begin() override { begin_ = seconds_now(); }
  void end() override { seconds_ += seconds_now() - begin_; }
  double seconds() override { return seconds_; }

 private:
  double begin_ = 0, seconds_ = 0;
};

}  // namespace

// Huge pages for large sizes: an arena of gigabytes in pages of 4 KiB misses the TLB constantly. Most systems
// give them only on request.
void* CpuBackend::allocate(size_t bytes) {
  constexpr size_t huge_page = size_t{2} << 20;
  const size_t alignment = bytes >= huge_page ? huge_page : cache_line;
  // The system promises more memory than there is, and kills the process that uses it.
  const size_t free = free_bytes();
  void* memory = bytes > free ? nullptr : std::aligned_alloc(alignment, aligned(bytes, alignment));
  if (!memory) {
    constexpr size_t MiB = size_t{1} << 20;
    const std::string needed = std::to_string(aligned(bytes, MiB) / MiB);
    const std::string why = bytes > free ? std::to_string(free / MiB) + " MiB are free"
                                         : "the process gets no more (`ulimit -a` shows its limits)";
    throw InputError("there is not enough memory: " + needed + " MiB are needed, and " + why, "",
                     "Use a smaller batch, micro_batch or size, or a smaller network.");
  }
  if (bytes >= huge_page) ::madvise(memory, bytes, MADV_HUGEPAGE);
  count_allocation(bytes);
  return memory;
}

void CpuBackend::release(void* memory, size_t bytes) {
  std::free(memory);
  count_release(bytes);
}

void CpuBackend::upload(void* device, const void* host, size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}
void CpuBackend::download(void* host, const void* device, size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}
void CpuBackend::copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}
void CpuBackend::zero(void* memory, size_t bytes) {
  if (bytes > 0) std::memset(memory, 0, bytes);
}

std::unique_ptr<Readback> CpuBackend::make_readback(size_t bytes) {
  return std::make_unique<CpuReadback>(bytes);
}

size_t CpuBackend::free_bytes() const {
  return free_host_memory();
}

void* CpuBackend::allocate_host(size_t bytes) {
  void* memory = std::aligned_alloc(cache_line, aligned(bytes));
  if (!memory) throw std::bad_alloc();
  return memory;
}
void CpuBackend::release_host(void* memory) {
  std::free(memory);
}

std::unique_ptr<WorkClock> CpuBackend::make_work_clock() {
  return std::make_unique<CpuWorkClock>();
}

}  // namespace brightnet::cpu

namespace brightnet {

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<cpu::CpuBackend>();
}

}  // namespace brightnet
