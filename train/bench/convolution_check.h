// A small convolution on a device, there and back, against the same convolution written plainly.
#pragma once

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet {

/// √(Σ(a − b)² / Σb²) of each pass, and what is allowed: rounding to the precision, and the sums' own.
struct ConvolutionCheck {
  double forward = 0, backward_data = 0, backward_weights = 0;
  double tolerance = 0;
  bool passed() const {
    return forward <= tolerance && backward_data <= tolerance && backward_weights <= tolerance;
  }
};

/// Throws DeviceError when the device cannot convolve.
ConvolutionCheck check_convolution(Backend& backend, Precision precision);

}  // namespace brightnet
