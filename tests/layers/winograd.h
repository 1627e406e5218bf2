// Winograd's algorithm (fp32, on CPUs with AVX-512) buys its speed with memory: transformed weights and tiles.
#pragma once

#include "layers/network.h"

namespace brightnet::testing {

inline bool convolves_by_winograd(const Network& network) {
  for (int i = 0; i < network.layer_count(); ++i) {
    if (network.implementation(i).find("wino") != std::string::npos) return true;
  }
  return false;
}

}  // namespace brightnet::testing
