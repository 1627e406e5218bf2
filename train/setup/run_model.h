// The model of a run: what its configuration names, with heads for the data set's classes.
#pragma once

#include "layers/model.h"
#include "train/config/config.h"

namespace brightnet {

/// The model with heads for this many classes and the run's head options. Throws InputError when the run
/// names none, or its input sizes are no multiples of the model's stride.
Model load_model(const RunConfig& config, int classes);

}  // namespace brightnet
