// What to change when training waits for its images.
#pragma once

#include <string>

#include "data/loader/loader.h"

namespace brightnet {

struct LoaderSituation {
  double waited = 0;  ///< fraction of the time that training waited for the loader
  LoaderOptions loader;
  int processors = 1;        ///< that this process may use
  double decoded_bytes = 0;  ///< of all training images, 3 bytes a pixel
};

/// A sentence that names the knob to turn; empty while the loader keeps up (less than a tenth of the time
/// waited).
std::string loader_advice(const LoaderSituation& situation);

/// The images' pixels as they are kept after decoding.
double decoded_bytes(const Dataset& dataset);

}  // namespace brightnet
