#include "kernels/cuda/installation.h"

#include <algorithm>
#include <filesystem>

namespace brightnet::cuda {
namespace {

std::string list_of(const std::vector<int>& architectures) {
  std::string text;
  for (const int architecture : architectures) {
    if (!text.empty()) text += ", ";
    text += std::to_string(architecture / 10) + '.' + std::to_string(architecture % 10);
  }
  return text;
}

std::string capability(const GpuFacts& gpu) {
  return std::to_string(gpu.major) + '.' + std::to_string(gpu.minor);
}

std::string visible(const Installation& installation) {
  const auto& devices = installation.visible_devices;
  return devices ? " (CUDA_VISIBLE_DEVICES is '" + *devices + "')" : "";
}

std::optional<Problem> missing_gpu(const Installation& installation, int index) {
  const int count = static_cast<int>(installation.gpus.size());
  if (index < count) return std::nullopt;
  if (count == 0) {
    return Problem{"no NVIDIA GPU is visible to this process" + visible(installation),
                   installation.visible_devices
                       ? "Name GPUs in CUDA_VISIBLE_DEVICES or unset it, or use --device cpu"
                       : "Look whether `nvidia-smi` lists one, or use --device cpu"};
  }
  return Problem{
      "there is no GPU " + std::to_string(index) + ": " + std::to_string(count) +
          (count == 1 ? " is" : " are") + " visible" + visible(installation),
      "Use --device cuda:0" + (count > 1 ? " to cuda:" + std::to_string(count - 1) : std::string())};
}

}  // namespace

bool have_gpu_files() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored);
}

bool has_code_for(const std::vector<int>& architectures, int major, int minor) {
  if (architectures.empty()) return false;
  const int card = 10 * major + minor;
  const int newest = *std::max_element(architectures.begin(), architectures.end());
  return card >= newest || std::any_of(architectures.begin(), architectures.end(),
                                       [&](int code) { return code / 10 == major && code <= card; });
}

std::optional<Problem> why_unusable(const Installation& installation, int index) {
  if (!installation.built) {
    return Problem{"this build of brightnet has no CUDA backend (" + installation.absence + ")",
                   "Run `scripts/setup --cuda` and build again, or use --device cpu"};
  }
  // The driver first: without it nothing else can be asked.
  const LibraryFacts& driver = installation.driver;
  if (!driver.problem.empty()) {
    return Problem{
        "the NVIDIA driver cannot be used: " + driver.problem +
            (driver.found.empty() ? "" : "; it is one for CUDA " + driver.found) + ", and CUDA " +
            driver.needed + " is needed",
        driver.found.empty()
            ? "Install NVIDIA's driver (580 or newer) and see that `nvidia-smi` works, or use --device cpu"
            : "Update NVIDIA's driver to 580 or newer, or use --device cpu"};
  }
  if (auto problem = missing_gpu(installation, index)) return problem;
  const GpuFacts& gpu = installation.gpus[index];
  if (!has_code_for(installation.architectures, gpu.major, gpu.minor)) {
    return Problem{"the GPU " + std::to_string(index) + " (" + gpu.name + ") has compute capability " +
                       capability(gpu) + ", and this build carries code for " +
                       list_of(installation.architectures) + " and newer than the last",
                   gpu.major * 10 + gpu.minor < 75
                       ? "CUDA 13 supports 7.5 and newer only: use another GPU or --device cpu"
                       : "Build with `scripts/build --cuda-arch " +
                             std::to_string(10 * gpu.major + gpu.minor) +
                             "`, use another GPU or --device cpu"};
  }
  if (!gpu.problem.empty()) {
    return Problem{"the GPU " + std::to_string(index) + " (" + gpu.name + ") cannot be used: " + gpu.problem,
                   "See what `nvidia-smi` says of it, or use another GPU or --device cpu"};
  }
  const LibraryFacts& cudnn = installation.cudnn;
  if (!cudnn.problem.empty()) {
    return Problem{"cuDNN cannot be used: " + cudnn.problem +
                       (cudnn.found.empty() ? "" : "; version " + cudnn.found + " was found") + ", and " +
                       cudnn.needed + " is needed",
                   "Install cuDNN 9 for CUDA 13 (`scripts/setup --cuda` brings it), put its folder into "
                   "LD_LIBRARY_PATH if it is installed elsewhere, or use --device cpu"};
  }
  return std::nullopt;
}

namespace {

/// The first generation of GPUs that computes in it.
int first_major(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16: return 0;
    case Precision::tf32:
    case Precision::bf16: return 8;
    case Precision::int8: break;
  }
  return 0;
}

}  // namespace

std::optional<Problem> why_not_in(Precision precision, const GpuFacts& gpu) {
  if (precision == Precision::int8) {
    return Problem{
        "brightnet computes in int8 on the CPU only, not on the GPU '" + gpu.name + "'",
        "Use --precision fp16 or --device cpu; other programs run the ONNX file of `brightnet export "
        "--int8` on a GPU"};
  }
  if (gpu.major >= first_major(precision)) return std::nullopt;
  return Problem{"the GPU '" + gpu.name + "' has compute capability " + capability(gpu) +
                     " and does not compute in " + std::string(enum_name(precision)) + ", which needs 8.0",
                 precision == Precision::bf16 ? "Use --precision fp16" : "Use --precision fp32 or fp16"};
}

}  // namespace brightnet::cuda
