// From what a user calls a device to the backend that computes there.
#pragma once

#include <memory>
#include <string>

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet {

/// `device`: auto, cpu, cuda, cuda:0, cuda:0,1. `auto` is the best device that this build supports. Throws
/// InputError for another word, and DeviceError when the device, or the precision on it, cannot be had:
/// nobody who asks for a GPU gets a slow CPU run instead.
std::unique_ptr<Backend> open_device(const std::string& device, Precision precision);

}  // namespace brightnet
