// brightnet bench --traffic (private to cli/).
#pragma once

#include <string>

#include "train/bench/traffic.h"
#include "train/setup/run_model.h"

namespace brightnet::cli {

struct TrafficArguments {
  int batch = 0;
  InputSize size;
  std::string card, precision, json;
};

/// Prints what a training step moves and computes, from its plan; returns the exit code.
int bench_traffic(NamedModel named, const TrafficArguments& arguments);

}  // namespace brightnet::cli
