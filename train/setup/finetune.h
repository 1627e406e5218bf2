// Fine-tuning: loads pretrained weights, freezes layers and sets the layers' learning rates.
#pragma once

#include <vector>

#include "layers/parameters.h"
#include "train/config/config.h"
#include "train/formats/weights.h"

namespace brightnet {

/// Sets the layers' rates: 0 for the layers in `freeze`, 1 for those in `fresh`, `pretrained_rate` for all
/// others. Throws InputError for a layer or block that the model does not have, and when nothing is left
/// to train.
void set_rates(Model& model, const TrainOptions& train);

/// Loads train.weights (safetensors, or darknet's .weights) into `values`, logs what matches and what does
/// not, and adds the layers that it does not contain to train.fresh.
void read_pretrained(TrainOptions& train, const Model& model, const ParameterLayout& layout,
                     std::vector<float>& values);

/// How many of the model's convolutions have a rate of 0.
int frozen_convolutions(const Model& model);

}  // namespace brightnet
