// Starting from weights that others have trained: which layers they fill, which of those stay as they are,
// and how fast the rest follows.
#pragma once

#include <vector>

#include "layers/parameters.h"
#include "train/config/config.h"
#include "train/formats/weights.h"

namespace brightnet {

/// Sets the model's rates as `train` says: 0 for what `freeze` names, `pretrained_rate` for everything else
/// but the layers listed as `fresh`. Throws InputError for a part that the model has not, and when nothing is
/// left to train.
void set_rates(Model& model, const TrainOptions& train);

/// Reads train.weights (safetensors, or darknet's .weights) over `values`, says what fits and what does not,
/// and adds the layers that it has nothing for to train.fresh.
void read_pretrained(TrainOptions& train, const Model& model, const ParameterLayout& layout,
                     std::vector<float>& values);

/// How many of the model's convolutions have a rate of 0.
int frozen_convolutions(const Model& model);

}  // namespace brightnet
