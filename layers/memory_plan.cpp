#include "layers/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "core/alignment.h"

namespace brightnet {

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  ArenaPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  struct Placed {
    size_t begin, end;
    int first, last;
  };
  std::vector<Placed> placed;  // by begin
  for (const size_t index : order) {
    const Lifetime& life = lifetimes[index];
    const size_t bytes = aligned(life.bytes, device_alignment);
    if (bytes == 0) continue;
    size_t offset = 0;
    for (const Placed& other : placed) {
      const bool together = other.first <= life.last && life.first <= other.last;
      if (!together || other.end <= offset) continue;
      if (other.begin >= offset + bytes) break;
      offset = other.end;
    }
    plan.offsets[index] = offset;
    plan.total = std::max(plan.total, offset + bytes);
    const Placed mine{offset, offset + bytes, life.first, life.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  mine);
  }
  return plan;
}

}  // namespace brightnet
