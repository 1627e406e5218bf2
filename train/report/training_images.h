// How well a network that has been trained knows the images that it was trained on, beside those it has never seen.
#pragma once

#include <optional>
#include <stop_token>

#include "train/loop/trainer.h"
#include "train/report/closing_words.h"

namespace brightnet {

/// Evaluates a finished run's last weights on some training images, where that takes little of the run's time and
/// the weights were evaluated on the validation split in this process. A request to stop leaves it out, and so does
/// an error, with a warning. All ranks call it, with the setup of the trainer. Of tiles the pictures are evaluated, whose
/// tiles are merged as in validation.
std::optional<TrainingImages> measure_training_images(Trainer& trainer, const TrainingSetup& setup,
                                                      const std::stop_token& stop = {});

}  // namespace brightnet
