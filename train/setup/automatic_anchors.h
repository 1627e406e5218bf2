// `head: {anchors: auto}`: anchors fitted to the run's own data when the run begins.
#pragma once

#include "data/commands/anchors.h"
#include "train/config/config.h"

namespace brightnet {

/// The options of find_anchors() for a run: as many anchors as the model has, at its training size
/// and placement.
AnchorOptions anchor_options(const RunConfig& config, const Model& model);

/// Replaces `anchors: auto` by the anchors of the training split, so that the run's own config.yaml has the
/// numbers; does nothing otherwise.
void resolve_anchors(RunConfig& config, const Dataset& train);

}  // namespace brightnet
