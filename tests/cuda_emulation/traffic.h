// Counts what kernels load and store. The compiler reports every access of a kernel's source, as it does for
// its thread sanitizer (-fsanitize=thread), to functions of ours; so nothing is left out, whatever a kernel
// uses to get at its memory.
#pragma once

#include <string>
#include <vector>

#include "kernels/traffic.h"

namespace brightnet::emulation {

/// A launch, a copy or a fill: what it stated and what it did.
struct CountedLaunch {
  std::string where;
  bool states_traffic = false;
  Traffic stated, counted;
};

/// While one lives, all launches are counted. Slow.
class CountTraffic {
 public:
  CountTraffic();
  ~CountTraffic();
  CountTraffic(const CountTraffic&) = delete;
  CountTraffic& operator=(const CountTraffic&) = delete;

  /// False where the compiler serves another sanitizer.
  static bool available();
  /// In the order in which they ran.
  static const std::vector<CountedLaunch>& launches();
};

bool counts_traffic();
/// Around a launch's blocks. A launch that runs twice (launch.h) is counted once.
void begin_counting();
void end_counting(const std::string& where, const Traffic* stated);
/// Of a copy or a fill, which do what they state.
void count_transfer(const Traffic& traffic);

}  // namespace brightnet::emulation
