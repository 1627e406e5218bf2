// Pictures of what the network sees: samples as the loader makes them, with the ground-truth boxes.
// `brightnet data show`.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "train/config/config.h"

namespace brightnet {

struct SamplePictureOptions {
  Split split = Split::train;
  int count = 16;
  uint64_t seed = 0;
  bool plain = false;  ///< the training split without augmentation; other splits are never augmented
  /// Samples of an epoch (0: those shown), and the one at which the run's last part, of whole images, begins.
  uint64_t epoch_samples = 0, plain_from = std::numeric_limits<uint64_t>::max();
  bool augmented() const { return split == Split::train && !plain; }
};

/// One sample as it is shown.
struct SamplePicture {
  cv::Mat rgb;
  size_t objects = 0;
};

/// The image that each sample begins with. Those of the training split are the first that a run with this
/// seed sees.
std::vector<int> sample_images(const Dataset& dataset, const LoaderOptions& loader,
                               const SamplePictureOptions& options);

/// Makes the samples at the run's input size (train.size; of other splits the size of evaluation), draws
/// their boxes and class names, and hands them over in order. Augmented ones are a run's first, pixel for
/// pixel, when it trains at this size with this seed. Throws InputError for an image that
/// cannot be read.
void picture_samples(const Dataset& dataset, const RunConfig& config, const SamplePictureOptions& options,
                     const std::function<void(int number, const SamplePicture&)>& use);

}  // namespace brightnet
