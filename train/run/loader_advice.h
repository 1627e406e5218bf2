// What to change when training waits for its images.
#pragma once

#include <string>

#include "data/loader/loader.h"
#include "train/run/progress.h"

namespace brightnet {

struct LoaderSituation {
  /// Fraction of the time that training waited for the loader.
  double waited = 0;
  LoaderOptions loader;
  /// That this process may use.
  int processors = 1;
  /// Of all training images, 3 bytes a pixel.
  double decoded_bytes = 0;
};

/// A sentence that names the option to change; empty while training waits less than a tenth of its time.
std::string loader_advice(const LoaderSituation& situation);

/// The images' pixels as they are kept after decoding.
double decoded_bytes(const Dataset& dataset);

/// Gives a run that advice once, after the first epoch that shows the need.
class LoaderAdvisor {
 public:
  /// `train` outlives it.
  LoaderAdvisor(const LoaderOptions& loader, const Dataset& train);
  std::string after_epoch(const EpochSums& sums);

 private:
  LoaderOptions loader_;
  const Dataset& train_;
  bool advised_ = false;
};

}  // namespace brightnet
