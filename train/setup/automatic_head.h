// `head: {assignment: auto}`, the default: how the prediction layers are read and trained. Layers that start fresh
// get the recipe that trained best (docs/measurements/assignment.md); pretrained ones keep what they were trained with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/setup/automatic.h"

namespace brightnet {

/// Replaces `assignment: auto` in the configuration's head, and with it sets the other keys of the recipe that the
/// user did not give. Returns the choices; none where the assignment is given, or is that of an imported darknet
/// network. `model` is the run's, and config.train.fresh lists the layers that its weights do not contain.
std::vector<Choice> choose_head(RunConfig& config, const Model& model);

/// Gives an automatic train.static_assignment its value; `model` has the heads of the run. A choice where it is not 0.
std::optional<Choice> choose_static_assignment(RunConfig& config, const Model& model);

/// Whether choose_head() may set this key, "head.scale_xy".
bool is_chosen_with_head(const std::string& key);

}  // namespace brightnet
