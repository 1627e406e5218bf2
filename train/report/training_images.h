// How well a network that has been trained knows the images that it was trained on, beside those it has never seen.
#pragma once

#include <optional>
#include <stop_token>

#include "train/loop/trainer.h"
#include "train/report/closing_words.h"

namespace brightnet {

/// Evaluates a finished run's last weights on some training images, where that takes little of the run's time and
/// the weights were evaluated on the validation split in this process. A request to stop leaves it out, and so does
/// an error, with a warning. All ranks call it, with the setup of the trainer. `pictures`: what the training split
/// was cut from (data.tiles), as evaluations merge the tiles of a picture; otherwise the split.
std::optional<TrainingImages> measure_training_images(Trainer& trainer, const TrainingSetup& setup,
                                                      const Dataset& pictures,
                                                      const std::stop_token& stop = {});

}  // namespace brightnet
