#include "kernels/device/device.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/quantized_convolution.h"

namespace brightnet {
namespace {

std::unique_ptr<Backend> open_cpu(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::bf16: return make_cpu_backend();
    case Precision::int8:
      if (cpu::has_int8_products()) return make_cpu_backend();
      throw DeviceError("this CPU has no instructions that sum 8-bit products exactly (VNNI or AMX)", "",
                        "Use --precision fp32, or another machine.");
    case Precision::tf32:
    case Precision::fp16: break;
  }
  throw DeviceError("the CPU does not compute in " + std::string(enum_name(precision)), "",
                    "Use fp32 or bf16: --precision, or train.precision in the configuration.");
}

void refuse(const std::optional<cuda::Problem>& problem, const std::string& device, const char* where) {
  if (problem) throw DeviceError("'" + device + "' was requested: " + problem->what, where, problem->remedy);
}

/// What to write instead of "0,1" or "cuda:0,1"; "" for other words.
std::string several_gpus(const std::string& device) {
  const std::string list = device.substr(device.rfind("cuda:", 0) == 0 ? 5 : 0);
  const bool is_list = !list.empty() && std::isdigit(static_cast<unsigned char>(list.front())) &&
                       std::isdigit(static_cast<unsigned char>(list.back())) &&
                       list.find(',') != std::string::npos && list.find(",,") == std::string::npos &&
                       list.find_first_not_of("0123456789,") == std::string::npos;
  if (!is_list) return "";
  return fmt::format(
      "Several GPUs are a rank each: --device cuda --ranks {}, with CUDA_VISIBLE_DEVICES={} before brightnet.",
      1 + std::count(list.begin(), list.end(), ','), list);
}

}  // namespace

DeviceName parse_device(const std::string& device) {
  if (const std::string more = several_gpus(device); !more.empty())
    throw InputError("'" + device + "' is not a device", "--device", more);
  if (device == "auto") return {DeviceKind::automatic, 0};
  if (device == "cpu") return {DeviceKind::cpu, 0};
  if (device == "cuda") return {DeviceKind::cuda, 0};
  if (device.rfind("cuda:", 0) == 0) {
    const auto index = parse_integer<int>(std::string_view(device).substr(5));
    if (index >= 0) return {DeviceKind::cuda, *index};
    throw InputError("'" + device + "' is not a GPU", "--device",
                     "Write cuda:0 for the first, cuda:1 for the second, and so on.");
  }
  if (!device.empty() && device.find_first_not_of("0123456789") == std::string::npos)
    throw InputError("'" + device + "' is not a device", "--device", "brightnet says cuda:" + device + '.');
  const std::string nearest = nearest_word(device, std::vector<std::string>{"auto", "cpu", "cuda"});
  throw InputError(
      "'" + device + "' is not a device", "--device",
      nearest.empty() ? "Known are auto, cpu, cuda and cuda:N." : "Did you mean '" + nearest + "'?");
}

int automatic_gpu(const cuda::Installation& installation, Precision precision, std::string& remark) {
  remark.clear();
  if (installation.gpus.empty()) {
    if (installation.gpu_files) {
      const auto problem = cuda::why_unusable(installation, 0);
      remark = problem->what + ". " + problem->remedy;
    }
    return -1;
  }
  for (int i = 0; i < static_cast<int>(installation.gpus.size()); ++i) {
    auto problem = cuda::why_unusable(installation, i);
    if (!problem) problem = cuda::why_not_in(precision, installation.gpus[i]);
    if (!problem) return i;
    if (remark.empty()) remark = problem->what + ". " + problem->remedy;
  }
  return -1;
}

std::string device_of_rank(const std::string& device, int local_rank, int local_size,
                           const cuda::Installation& installation) {
  const DeviceKind kind = parse_device(device).kind;
  const auto gpus = static_cast<int>(installation.gpus.size());
  if (local_size == 1 || kind == DeviceKind::cpu || gpus == 0) return device;
  if (device.rfind("cuda:", 0) == 0) {
    throw InputError(
        "all " + std::to_string(local_size) + " ranks of this machine would share '" + device + "'",
        "--device", "Write --device cuda: each rank takes a GPU of its own.");
  }
  if (kind == DeviceKind::automatic) {
    const auto unusable = [&](int gpu) { return cuda::why_unusable(installation, gpu); };
    int usable = 0;
    for (int gpu = 0; gpu < std::min(local_size, gpus); ++gpu) usable += unusable(gpu) ? 0 : 1;
    if (usable == 0) return device;  // all on the CPU, as without ranks
    if (const auto problem = unusable(std::min(local_rank, gpus - 1))) {
      throw DeviceError(
          fmt::format("{}, and rank {} of this machine cannot share that of another rank", problem->what,
                      local_rank),
          "--device",
          "Name the GPUs that work with CUDA_VISIBLE_DEVICES and start as many ranks, or use --device cpu");
    }
  }
  if (gpus == 1) return device;
  if (local_rank < gpus) return "cuda:" + std::to_string(local_rank);
  throw DeviceError(
      "this machine has " + std::to_string(gpus) + " GPUs for " + std::to_string(local_size) + " ranks",
      "--device", "Start as many ranks as there are GPUs, or use --device cpu");
}

std::unique_ptr<Backend> open_device(const std::string& device, Precision precision,
                                     const EngineChoice& engines) {
  DeviceName name = parse_device(device);
  if (name.kind == DeviceKind::cpu) return open_cpu(precision);
  const cuda::Installation installation = cuda::inspect(name.index);
  if (name.kind == DeviceKind::automatic) {
    std::string remark;
    name.index = automatic_gpu(installation, precision, remark);
    if (name.index < 0) {
      if (!remark.empty()) log::warn("Using the CPU, not the GPU: {}.", remark);
      return open_cpu(precision);
    }
  }
  refuse(cuda::why_unusable(installation, name.index), device, "--device");
  refuse(cuda::why_not_in(precision, installation.gpus[name.index]), device, "--precision");
  using enum cuda::EngineSelection;
  return cuda::make_backend(
      {name.index, precision, engines.deterministic ? reproducible : fastest, engines.timing_seconds});
}

// bf16 first: it has the range of fp32 and needs no loss scale (docs/precision.md). But a step of yolov4 that reads the
// convolutions' outputs once more for batch-norm's sums moves a tenth more memory.
FastPrecision fast_precision(const cuda::GpuFacts& gpu, const cuda::SumEngines& sums) {
  const std::string device = "the GPU " + gpu.name;
  if (gpu.major >= 8 && sums.fp16 && !sums.bf16)
    return {Precision::fp16, true,
            "cuDNN's convolutions for " + device + " have batch-norm's sums in fp16 alone"};
  if (gpu.major >= 8) return {Precision::bf16, true, device + " has tensor cores for it"};
  if (gpu.major == 7) return {Precision::fp16, true, device + " has tensor cores for it, and none for bf16"};
  return {Precision::fp32, true, device + " has no tensor cores"};
}

FastPrecision fast_precision(const std::string& device) {
  DeviceName name = parse_device(device);
  if (name.kind != DeviceKind::cpu) {
    const cuda::Installation installation = cuda::inspect(name.index);
    std::string remark;
    if (name.kind == DeviceKind::automatic) name.index = automatic_gpu(installation, Precision::fp32, remark);
    if (name.index >= 0 && name.index < static_cast<int>(installation.gpus.size()))
      return fast_precision(installation.gpus[name.index], cuda::sum_engines(name.index));
    // Memory may be planned without one.
    if (name.kind == DeviceKind::cuda)
      return {Precision::bf16, true, "GPUs since 8.0 have tensor cores for it"};
  }
  if (cpu::fast_bf16()) return {Precision::bf16, false, "this CPU multiplies bf16 faster than fp32"};
  return {Precision::fp32, false, "this CPU has no fast bf16"};
}

std::unique_ptr<Backend> open_planner(const std::string& device, Precision precision) {
  DeviceName name = parse_device(device);
  if (name.kind == DeviceKind::automatic) {
    std::string remark;
    const int gpu = automatic_gpu(cuda::inspect(0), precision, remark);
    name.kind = gpu < 0 ? DeviceKind::cpu : DeviceKind::cuda;
  }
  switch (name.kind) {
    case DeviceKind::cpu: return open_cpu(precision);
    case DeviceKind::automatic:
    case DeviceKind::cuda: break;
  }
  return cuda::make_planning_backend(precision);
}

}  // namespace brightnet
