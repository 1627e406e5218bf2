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
  std::vector<Placed> placed;  // sorted by `begin`
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

ArenaRange largest_free_range(const std::vector<Lifetime>& lifetimes, const ArenaPlan& plan, size_t arena,
                              std::span<const int> times, int except) {
  std::vector<ArenaRange> used{{arena / device_alignment * device_alignment, 0}};  // the end
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& life = lifetimes[i];
    const bool alive = std::any_of(times.begin(), times.end(),
                                   [&](int time) { return life.first <= time && time <= life.last; });
    if (alive && life.bytes > 0 && static_cast<int>(i) != except)
      used.push_back({plan.offsets[i], aligned(life.bytes, device_alignment)});
  }
  std::sort(used.begin(), used.end(),
            [](const ArenaRange& a, const ArenaRange& b) { return a.offset < b.offset; });
  ArenaRange largest;
  size_t end = 0;  // the end of what is used so far
  for (const ArenaRange& range : used) {
    if (range.offset > end && range.offset - end > largest.bytes) largest = {end, range.offset - end};
    end = std::max(end, range.offset + range.bytes);
  }
  return largest;
}

}  // namespace brightnet
