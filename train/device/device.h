// From what a user calls a device to the backend that computes there.
#pragma once

#include <memory>
#include <string>

#include "core/dtype.h"
#include "kernels/backend.h"
#include "kernels/cuda/installation.h"

namespace brightnet {

enum class DeviceKind : uint8_t { automatic, cpu, cuda };

/// A device's name, taken apart.
struct DeviceName {
  DeviceKind kind = DeviceKind::automatic;
  int index = 0;  ///< of the GPU, among those that CUDA_VISIBLE_DEVICES leaves
};

/// `device`: auto, cpu, cuda (the first GPU), cuda:N. Throws InputError for another word.
DeviceName parse_device(const std::string& device);

/// The GPU that `auto` takes, or −1 for the CPU: the first that can be used in this precision. `remark` then
/// gives the reason if a GPU that is present is not used, so that this never happens silently.
int automatic_gpu(const cuda::Installation& installation, Precision precision, std::string& remark);

/// What `device` means for one of several ranks of a machine: cuda, and auto where there are GPUs, become the
/// rank's own GPU. Throws DeviceError when there are fewer GPUs than ranks, and InputError for cuda:N, which
/// all of them would share. A launcher that shows each rank a single GPU has divided them already.
std::string device_of_rank(const std::string& device, int local_rank, int local_size,
                           const cuda::Installation& installation);

/// `auto` is the best device that this machine and this build have. Throws DeviceError when the device, or
/// the precision on it, cannot be used: a request for a GPU never falls back to the CPU.
std::unique_ptr<Backend> open_device(const std::string& device, Precision precision,
                                     bool deterministic = false);

/// A backend to plan with and not to compute: for a GPU it needs no GPU.
std::unique_ptr<Backend> open_planner(const std::string& device, Precision precision);

}  // namespace brightnet
