// Inspects the machine's CUDA: driver and GPUs through the CUDA runtime, which is linked statically and loads
// the driver itself; cuDNN, NCCL and nvJPEG by loading them.
#include <cstdlib>
#include <sstream>

#include <cudnn_version.h>
#include <nccl.h>

#include "kernels/cuda/installation.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/nvjpeg.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {
namespace {

// CUDA's minor releases run on any driver of their major release.
constexpr int needed_driver = CUDART_VERSION / 1000 * 1000;
constexpr size_t needed_cudnn = 90000;

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

std::string decimal_version(size_t version, size_t major_step) {
  return std::to_string(version / major_step) + '.' + std::to_string(version % major_step / 100) + '.' +
         std::to_string(version % 100);
}

LibraryFacts inspect_driver() {
  LibraryFacts facts;
  facts.built_for = cuda_version(CUDART_VERSION);
  facts.needed = cuda_version(needed_driver) + " or newer";
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
    facts.problem = "none is installed (libcuda.so.1 cannot be loaded)";
    return facts;
  }
  facts.found = cuda_version(version);
  if (version < needed_driver) facts.problem = "it is too old";
  return facts;
}

LibraryFacts inspect_runtime() {
  LibraryFacts facts;
  int version = 0;
  cudaRuntimeGetVersion(&version);
  facts.found = facts.built_for = cuda_version(version);
  facts.path = "part of this program";
  return facts;
}

LibraryFacts inspect_cudnn() {
  LibraryFacts facts;
  facts.built_for = decimal_version(CUDNN_VERSION, 10000);
  facts.needed = decimal_version(needed_cudnn, 10000) + " or newer";
  const SharedLibrary& library = cudnn_library();
  auto* version_of = library.function<size_t()>("cudnnGetVersion");
  if (!version_of) {
    facts.problem = library.loaded() ? library.path() + " is no cuDNN" : library.problem();
    return facts;
  }
  const size_t version = version_of();
  facts.found = decimal_version(version, 10000);
  facts.path = library.path();
  if (auto* runtime_of = library.function<size_t()>("cudnnGetCudartVersion")) {
    // A cuDNN for another major CUDA version loads, but fails later with obscure errors.
    const size_t runtime = runtime_of();
    if (runtime / 1000 != CUDART_VERSION / 1000)
      facts.problem = "it is one for CUDA " + cuda_version(static_cast<int>(runtime));
  }
  if (version < needed_cudnn) facts.problem = "it is too old";
  return facts;
}

LibraryFacts inspect_nccl() {
  LibraryFacts facts;
  facts.built_for = decimal_version(NCCL_VERSION_CODE, 10000);
  facts.needed = "2.18.0 or newer (for more than one GPU)";
  const SharedLibrary& library = nccl_library();
  auto* version_of = library.function<ncclResult_t(int*)>("ncclGetVersion");
  int version = 0;
  if (!version_of || version_of(&version) != ncclSuccess) {
    facts.problem = library.loaded() ? library.path() + " is no NCCL" : library.problem();
    return facts;
  }
  facts.found = decimal_version(static_cast<size_t>(version), 10000);
  facts.path = library.path();
  if (version < 21800) facts.problem = "it is too old";
  return facts;
}

LibraryFacts inspect_nvjpeg() {
  LibraryFacts facts;
  facts.needed = "13.0.0 or newer (for loader.decode)";
  const SharedLibrary& library = nvjpeg_library();
  auto* part_of = library.function<int(libraryPropertyType, int*)>("nvjpegGetProperty");
  int major = 0, minor = 0, patch = 0;
  if (!part_of || part_of(MAJOR_VERSION, &major) != 0 || part_of(MINOR_VERSION, &minor) != 0 ||
      part_of(PATCH_LEVEL, &patch) != 0) {
    facts.problem = library.loaded() ? library.path() + " is no nvJPEG" : library.problem();
    return facts;
  }
  facts.found = std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  facts.path = library.path();
  facts.problem = nvjpeg().problem;
  return facts;
}

std::vector<GpuFacts> inspect_gpus(LibraryFacts& driver, int only) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status != cudaSuccess && status != cudaErrorNoDevice) {
    driver.problem = std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ')';
    return {};
  }
  std::vector<GpuFacts> gpus;
  int before = 0;
  // cudaSetDevice() creates a context in the GPU's memory: the previous GPU is restored only if all
  // were inspected.
  const bool restore = only == every_gpu && count > 0 && cudaGetDevice(&before) == cudaSuccess;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    GpuFacts gpu;
    cudaError_t answer = cudaGetDeviceProperties(&properties, i);
    gpu.name = properties.name;
    gpu.major = properties.major;
    gpu.minor = properties.minor;
    gpu.total_bytes = properties.totalGlobalMem;
    const bool ask = only == every_gpu || only == i;
    if (ask && answer == cudaSuccess) answer = cudaSetDevice(i);
    if (ask && answer == cudaSuccess) answer = cudaMemGetInfo(&gpu.free_bytes, &gpu.total_bytes);
    if (answer != cudaSuccess)
      gpu.problem = std::string(cudaGetErrorString(answer)) + " (" + cudaGetErrorName(answer) + ')';
    cudaGetLastError();
    gpus.push_back(std::move(gpu));
  }
  if (restore) cudaSetDevice(before);
  return gpus;
}

}  // namespace

Installation inspect(int gpu) {
  Installation installation;
  installation.built = true;
  installation.gpu_files = have_gpu_files();
  std::istringstream list(BRIGHTNET_CUDA_ARCHITECTURES);
  for (std::string code; std::getline(list, code, ',');)
    installation.architectures.push_back(std::stoi(code));
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) installation.visible_devices = visible;
  installation.driver = inspect_driver();
  installation.runtime = inspect_runtime();
  if (installation.driver.problem.empty()) installation.gpus = inspect_gpus(installation.driver, gpu);
  // Hundreds of MiB of addresses, in which cuDNN ends a process that has none left.
  if (gpu == every_gpu || !installation.gpus.empty()) {
    installation.cudnn = inspect_cudnn();
    installation.nccl = inspect_nccl();
    installation.nvjpeg = inspect_nvjpeg();
  } else {
    for (LibraryFacts* library : {&installation.cudnn, &installation.nccl, &installation.nvjpeg})
      library->problem = "it was not looked for, as there is no GPU";
  }
  return installation;
}

}  // namespace brightnet::cuda
