// Memory planning: every tensor of a step gets an offset in one arena, by the time during which it is alive.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace brightnet {

/// One tensor of a step: alive in [first, last] of the step's time line (forward calls, then backward calls).
struct Lifetime {
  size_t bytes = 0;
  int first = 0, last = 0;
};

/// Offsets such that tensors alive at the same time do not overlap: largest first, each at the lowest offset
/// that is free during its lifetime. `total` is the arena's size. Offsets are multiples of 256.
struct ArenaPlan {
  std::vector<size_t> offsets;
  size_t total = 0;
};
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

/// A part of the arena.
struct ArenaRange {
  size_t offset = 0, bytes = 0;
};
/// The largest part of the arena's first `arena` bytes that no tensor but number `except` uses at any of these
/// times; offset and size are multiples of 256.
ArenaRange largest_free_range(const std::vector<Lifetime>& lifetimes, const ArenaPlan& plan, size_t arena,
                              std::span<const int> times, int except);

/// One line of `brightnet memory`, in bytes.
struct LayerMemoryRow {
  std::string name, kind;
  Shape output;
  size_t parameters = 0, activation = 0, saved = 0, gradient = 0, working_weights = 0, workspace = 0;
};

/// Device memory of a network, in bytes.
struct NetworkMemory {
  size_t input = 0;            ///< u8 pixels and ground-truth boxes
  size_t working_weights = 0;  ///< parameters in compute type and layout
  /// Activations, saved tensors, gradients and workspace, which share memory by lifetime; or what prepare()
  /// needs in the same memory, if that is more.
  size_t step = 0;
  size_t unshared = 0;  ///< bytes that `step` would take without sharing
  std::vector<LayerMemoryRow> rows;
  size_t arena() const { return input + working_weights + step; }
};

}  // namespace brightnet
