#include "train/device.h"

#include <vector>

#include "core/error.h"

namespace brightnet {

std::unique_ptr<Backend> open_device(const std::string& device, Precision precision) {
  if (device == "cuda" || device.rfind("cuda:", 0) == 0) {
    throw DeviceError(
        "the device '" + device + "' was asked for, and this build of brightnet has no CUDA backend",
        "--device", "Use --device cpu");
  }
  if (device != "auto" && device != "cpu") {
    const std::string nearest = nearest_word(device, std::vector<std::string>{"auto", "cpu", "cuda"});
    throw InputError(
        "'" + device + "' is no device", "--device",
        nearest.empty() ? "Known are auto, cpu, cuda and cuda:N." : "Did you mean '" + nearest + "'?");
  }
  if (precision == Precision::fp16 || precision == Precision::tf32) {
    throw DeviceError("the CPU does not compute in " + std::string(to_string(precision)), "--precision",
                      "Use --precision fp32 or bf16");
  }
  return make_cpu_backend();
}

}  // namespace brightnet
