// The exponential moving average of the weights, which generalises better than any single step's weights
// (Polyak & Juditsky 1992; Tarvainen & Valpola 2017). It includes batch-norm's running statistics.
#pragma once

#include "core/auto.h"
#include "core/config.h"
#include "layers/parameters.h"

namespace brightnet {

/// The `ema:` section: the averaged weights that are evaluated and saved for use.
struct EmaOptions {
  Auto<float> decay;  ///< 0: no average
  Auto<float> ramp;   ///< iterations: decay(t) = decay · (1 − exp(−t / ramp))
  void fields(Fields& f);
};

/// The size of the average, in device memory.
size_t average_bytes(const EmaOptions& options, const ParameterLayout& layout);

}  // namespace brightnet
