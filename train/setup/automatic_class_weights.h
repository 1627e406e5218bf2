// `head: {class_weights: auto}`: factors of the class loss that make up for rare classes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "train/setup/automatic.h"

namespace brightnet {

/// Weights inversely proportional to the classes' numbers of objects, from 0.25 to 4, with a mean of 1 over the
/// classes that occur; 1 for those that do not.
std::vector<float> balanced_class_weights(const std::vector<int64_t>& objects);

/// Replaces `class_weights: auto` in the configuration by the weights of the training split; nothing where the
/// run's `model` has no such heads.
std::optional<Choice> choose_class_weights(RunConfig& config, const Dataset& train, const Model& model);

}  // namespace brightnet
