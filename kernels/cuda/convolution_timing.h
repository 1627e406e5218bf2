// How long work takes on the device, for choosing among implementations.
#pragma once

#include <functional>

#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Milliseconds that the device takes for what `work` queues, the shortest of some rounds of several runs, in which
/// the host's part does not count. What takes `hopeless` in its first run is not repeated. Negative when `work` says
/// that it failed.
float fastest_run(const std::function<bool()>& work, cudaStream_t stream, float hopeless);

}  // namespace brightnet::cuda
