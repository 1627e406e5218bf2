#include "core/progress.h"

#include <atomic>

namespace brightnet {
namespace {

std::atomic<uint64_t> parts_done{0};

}  // namespace

void note_progress() {
  parts_done.fetch_add(1, std::memory_order_relaxed);
}

uint64_t progress_count() {
  return parts_done.load(std::memory_order_relaxed);
}

}  // namespace brightnet
