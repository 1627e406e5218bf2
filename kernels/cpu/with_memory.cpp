#include "kernels/cpu/with_memory.h"

#include <sys/mman.h>

namespace brightnet::onednn {

bool can_get(size_t bytes) {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  ::munmap(pages, bytes);
  return true;
}

}  // namespace brightnet::onednn
