// The sizes through which the input of a run grows (train.grow).
#pragma once

#include <string>
#include <vector>

#include "core/input_size.h"

namespace brightnet {

/// The first size of an input that grows, as a part of the full one: the measured best (docs/measurements/growing_input.md).
constexpr double first_growing_size = 0.54;

/// Sizes from about half of `size` to itself. They have its ratio, and read back from the run's config.yaml unchanged.
std::vector<InputSize> growing_sizes(const InputSize& size, int stride);

/// Sizes that the user gave, with `size` as the last: the run is evaluated at it and its weights are used at it, so that it
/// must have been trained on. Throws InputError, which names `where`, for a size above it.
std::vector<InputSize> grown_to(const InputSize& size, std::vector<InputSize> given,
                                const std::string& where);

/// "[224, 320, 416]"
std::string sizes_text(const std::vector<InputSize>& sizes);

}  // namespace brightnet
