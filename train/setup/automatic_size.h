// `train.size: auto`: a network input of the shape that the training images have.
#pragma once

#include <optional>

#include "data/dataset.h"
#include "layers/model/model.h"
#include "train/setup/automatic.h"

namespace brightnet {

/// Returns the one of the sizes whose sides are multiples of `stride` that is nearest to the images' usual ratio of width and
/// height (the median) and to the pixels of `usual`, both as factors.
InputSize fitting_size(const Dataset& training, const InputSize& usual, int stride);

/// Gives an automatic train.size the fitting size with about the pixels of the model's own input, so that a step costs
/// what it usually does, and train.sizes their widths. Throws InputError when there is no image to go by.
std::optional<Choice> choose_size(RunConfig& config, const Dataset& training, const Model& model);

}  // namespace brightnet
