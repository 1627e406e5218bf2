// The device that a network computes on, and its precision.
#pragma once

#include <string>

#include "brightnet/public.h"

namespace brightnet {

struct DeviceOptions {
  /// "auto" (the first GPU that can be used, else the CPU), "cpu", "cuda" (the first GPU) or "cuda:N".
  std::string device = "auto";
  /// "fp32", "tf32" (GPU), "bf16", "fp16" (GPU), or "auto": fp32 to detect objects; to train and to evaluate the one in which the
  /// device is fastest without a loss of accuracy.
  std::string precision = "auto";
};

/// A device as it was found.
struct DeviceDescription {
  std::string name = {};       ///< "CPU", or the GPU's name
  std::string precision = {};  ///< the one asked for, or the one that "auto" is in training
  bool gpu = false;
};

/// Opens the device once to see that it can be used, and closes it. A GPU that was asked for is never replaced by the CPU.
/// Throws DeviceError when it, or the precision on it, cannot be used, and InputError for words that are none. Safe from
/// any thread.
BRIGHTNET_PUBLIC DeviceDescription describe_device(const DeviceOptions& options = {});

}  // namespace brightnet
