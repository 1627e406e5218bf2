// Checks the forward and backward passes of a small convolution on a device against a direct implementation.
#pragma once

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet {

/// Relative error √(Σ(a − b)² / Σb²) of each pass; the tolerance covers rounding of values and sums.
struct ConvolutionCheck {
  double forward = 0, backward_data = 0, backward_weights = 0;
  double tolerance = 0;
  bool passed() const {
    return forward <= tolerance && backward_data <= tolerance && backward_weights <= tolerance;
  }
};

/// Throws DeviceError when the device cannot run the convolution.
ConvolutionCheck check_convolution(Backend& backend, Precision precision);

}  // namespace brightnet
