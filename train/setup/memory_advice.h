// What fits when something does not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "train/loop/memory.h"

namespace brightnet {

/// Bytes that `micro_batch: auto` may plan for: train.memory_fraction of what the device has free; unset, 0.6
/// of a machine's memory, which others use as well, and 0.9 of a GPU's.
size_t memory_budget(const RunConfig& config, const Backend& backend);

/// The changes, each one alone enough, with which the run fits into `free` bytes, as command-line arguments
/// with what they lead to: a smaller micro-batch, 16-bit numbers, recomputed activations, a smaller input.
std::vector<std::string> what_fits(const RunConfig& config, const Model& model, Backend& backend,
                                   size_t free);

/// Throws DeviceError, with what was asked, what is free and what_fits(), when the run's plan is larger than
/// the device's free memory.
void check_memory(const RunConfig& config, const Model& model, Backend& backend);

}  // namespace brightnet
