// Maps a device's name to the backend that computes on it.
#pragma once

#include <memory>
#include <string>

#include "core/dtype.h"
#include "kernels/backend.h"
#include "kernels/cuda/installation.h"

namespace brightnet {

enum class DeviceKind : uint8_t { automatic, cpu, cuda };

/// A parsed device name.
struct DeviceName {
  DeviceKind kind = DeviceKind::automatic;
  int index = 0;  ///< the GPU, counted from 0 among those that CUDA_VISIBLE_DEVICES leaves
};

/// `device`: auto, cpu, cuda (the first GPU), cuda:N. Throws InputError for another word.
DeviceName parse_device(const std::string& device);

/// The GPU that `auto` selects, the first that is usable in this precision, or −1 for the CPU. `remark` is
/// then the reason why a GPU that is present is not used.
int automatic_gpu(const cuda::Installation& installation, Precision precision, std::string& remark);

/// The device of one of several ranks of a machine: cuda, and auto if there are GPUs, become the rank's own
/// GPU. Throws DeviceError when there are fewer GPUs than ranks, or when `auto` finds the rank's own unusable and another
/// one usable, and InputError for cuda:N, which all ranks would share. A single visible GPU is used as it is: the
/// launcher has assigned it.
std::string device_of_rank(const std::string& device, int local_rank, int local_size,
                           const cuda::Installation& installation);

/// How a GPU's convolutions are chosen.
struct EngineChoice {
  bool deterministic = false;                         ///< chosen without timing, so that runs have the same
  double timing_seconds = cuda::most_timing_seconds;  ///< seconds spent on timing them, at most
};

/// `auto` is the best device of this machine supported by this build. Throws DeviceError when the device, or
/// the precision on it, cannot be used: a request for a GPU never falls back to the CPU.
std::unique_ptr<Backend> open_device(const std::string& device, Precision precision,
                                     const EngineChoice& engines = {});

/// The precision in which a device trains fastest without a loss of accuracy, for train.precision: auto.
struct FastPrecision {
  Precision precision = Precision::fp32;
  bool gpu = false;
  std::string reason;
};
/// bf16 or fp16 on a GPU with tensor cores for it, by the convolutions that cuDNN has there; bf16 on a CPU with
/// instructions for it; otherwise fp32. Throws InputError for a word that is no device; that a device cannot be used is for
/// open_device() to say.
FastPrecision fast_precision(const std::string& device);
FastPrecision fast_precision(const cuda::GpuFacts& gpu, const cuda::SumEngines& sums);

/// A backend for planning memory only; planning for a GPU does not require one.
std::unique_ptr<Backend> open_planner(const std::string& device, Precision precision);

}  // namespace brightnet
