// Plans the memory of a run and suggests changes when it does not fit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "train/loop/device_memory.h"

namespace brightnet {

/// train.memory_fraction; by default 0.6 on the CPU, which other processes share, and 0.9 on a GPU.
double memory_fraction(const RunConfig& config, const Backend& backend);
/// Bytes that `micro_batch: auto` may plan for: that fraction of the device's free memory.
size_t memory_budget(const RunConfig& config, const Backend& backend);

/// Changes, each sufficient alone, with which the run fits into `free` bytes, as command-line arguments with
/// the resulting memory: a smaller micro-batch, 16-bit numbers, recomputed activations, a smaller input;
/// nothing that would be refused for a batch-norm of one value on these `ranks`.
std::vector<std::string> what_fits(const RunConfig& config, const Model& model, Backend& backend, size_t free,
                                   int ranks = 1);

/// Throws InputError, with the memory needed, the memory free and what_fits(), when the run does not fit in
/// the device's free memory. `processes` ranks of this machine take as much each.
void check_memory(const RunConfig& config, const Model& model, Backend& backend, int processes = 1);

/// Throws InputError when the parameters, their gradients, one moment of each and their initial values do not
/// fit, before there are any: no micro-batch and no size makes them fewer.
void check_parameter_memory(const Model& model, const ParameterLayout& layout, const Backend& backend);

}  // namespace brightnet
