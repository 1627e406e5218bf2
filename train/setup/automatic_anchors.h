// `head: {anchors: auto}`: the anchors that suit the run's own data, found when the run begins.
#pragma once

#include "data/commands/anchors.h"
#include "train/config/config.h"

namespace brightnet {

/// What find_anchors() is asked for on behalf of a run: as many anchors as the model has, at the size and
/// with the placement that it is trained with.
AnchorOptions anchor_options(const RunConfig& config, const Model& model);

/// Replaces `anchors: auto` by the anchors of the training split, so that the run's own config.yaml has the
/// numbers; does nothing where the head says anything else.
void resolve_anchors(RunConfig& config, const Dataset& train);

}  // namespace brightnet
