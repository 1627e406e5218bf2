#include "bench/doctor.h"

#include <algorithm>

#include <fmt/format.h>

#include "brightnet/doctor.h"
#include "core/enum_names.h"
#include "core/host_memory.h"
#include "data/image/read_image.h"
#include "kernels/device/device.h"

namespace brightnet {
namespace {

const char* word(Health health) {
  switch (health) {
    case Health::good: return "ok";
    case Health::absent: return "absent";
    case Health::broken: return "FAILED";
  }
  return "";
}

LibraryDiagnosis of_facts(const std::string& name, const cuda::LibraryFacts& facts) {
  LibraryDiagnosis library{name,         Health::good, facts.found,   facts.built_for,
                           facts.needed, facts.path,   facts.problem, ""};
  if (!facts.problem.empty()) library.health = Health::broken;
  return library;
}

LibraryDiagnosis of_version(const std::string& name, const LibraryVersion& version) {
  return {name, Health::good, version.found, version.built_for, "", "", "", ""};
}

/// A library that may be absent unless the machine's hardware needs it.
LibraryDiagnosis diagnose_library(const std::string& name, const cuda::LibraryFacts& facts, bool needed,
                                  const std::string& remedy) {
  LibraryDiagnosis library = of_facts(name, facts);
  if (library.health == Health::good) return library;
  library.remedy = remedy;
  if (library.found.empty() && !needed) library.health = Health::absent;
  return library;
}

std::string install_remedy(const std::string& package) {
  return "Install " + package +
         " for CUDA 13 (`scripts/setup --cuda` does), or add its folder to LD_LIBRARY_PATH.";
}

std::vector<Precision> precisions_of_cpu() {
  return {Precision::fp32, Precision::bf16};
}

std::string library_line(const LibraryDiagnosis& library) {
  std::string text = fmt::format("{:<22} {:<7} {}", library.name, word(library.health),
                                 library.found.empty() ? "not found" : library.found);
  if (!library.built_for.empty() && library.built_for != library.found)
    text += fmt::format(", built for {}", library.built_for);
  if (!library.path.empty()) text += "  (" + library.path + ')';
  return text + '\n';
}

std::string trouble(const std::string& problem, const std::string& remedy) {
  std::string text;
  if (!problem.empty()) text += fmt::format("{:<22}         {}\n", "", problem);
  if (!remedy.empty()) text += fmt::format("{:<22}         -> {}\n", "", remedy);
  return text;
}

Json trouble_json(Json json, Health health, const std::string& problem, const std::string& remedy) {
  json["status"] = health == Health::broken ? "failed" : word(health);
  json["problem"] = problem;
  json["remedy"] = remedy;
  return json;
}

}  // namespace

bool Diagnosis::healthy() const {
  const auto good = [](const auto& line) { return line.health != Health::broken; };
  return std::all_of(libraries.begin(), libraries.end(), good) &&
         std::all_of(gpus.begin(), gpus.end(), good) &&
         std::all_of(convolutions.begin(), convolutions.end(), good);
}

std::vector<LibraryDiagnosis> diagnose_cuda(const cuda::Installation& installation) {
  if (!installation.built) {
    LibraryDiagnosis backend{
        "CUDA backend", Health::absent, "", "", "", "", "this build has none: " + installation.absence, ""};
    if (installation.gpu_files) {
      backend.health = Health::broken;
      backend.remedy = "This machine has an NVIDIA GPU: run `scripts/setup --cuda` and build again.";
    }
    return {backend};
  }
  return {
      diagnose_library("NVIDIA driver (CUDA)", installation.driver, installation.gpu_files,
                       "Install NVIDIA's driver, 580 or newer; `nvidia-smi` shows the current version."),
      of_facts("CUDA runtime", installation.runtime),
      diagnose_library("cuDNN", installation.cudnn, !installation.gpus.empty(), install_remedy("cuDNN 9")),
      diagnose_library("NCCL", installation.nccl, installation.gpus.size() > 1, install_remedy("NCCL 2")),
      diagnose_library("nvJPEG", installation.nvjpeg, false, install_remedy("nvJPEG 13"))};
}

std::vector<GpuDiagnosis> diagnose_gpus(const cuda::Installation& installation) {
  std::vector<GpuDiagnosis> gpus;
  for (int i = 0; i < static_cast<int>(installation.gpus.size()); ++i) {
    GpuDiagnosis gpu{i, installation.gpus[i], false, Health::good, "", ""};
    gpu.has_code = cuda::has_code_for(installation.architectures, gpu.facts.major, gpu.facts.minor);
    if (const auto problem = cuda::why_unusable(installation, i)) {
      gpu.health = Health::broken;
      gpu.problem = problem->what;
      gpu.remedy = problem->remedy + '.';
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

ConvolutionDiagnosis try_convolution(const std::string& device, Precision precision) {
  ConvolutionDiagnosis result{device, precision, Health::good, {}, "", ""};
  try {
    const auto backend = open_device(device, precision);
    result.check = check_convolution(*backend, precision);
    if (!result.check.passed()) {
      result.problem = "its numbers are wrong";
      result.remedy = device == "cpu"
                          ? "Update oneDNN, or report this with the output of `brightnet doctor --json`."
                          : "Update the driver and cuDNN, test the GPU's memory, or report this with the "
                            "output of `brightnet doctor --json`.";
    }
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
  if (!result.problem.empty()) result.health = Health::broken;
  return result;
}

Diagnosis diagnose() {
  const cuda::Installation installation = cuda::inspect();
  Diagnosis diagnosis;
  diagnosis.libraries = diagnose_cuda(installation);
  diagnosis.libraries.push_back(of_version("oneDNN", onednn_version()));
  diagnosis.libraries.push_back(of_version("OpenCV", opencv_version()));
  diagnosis.gpus = diagnose_gpus(installation);
  for (const int code : installation.architectures)
    diagnosis.cuda_code +=
        fmt::format("{}{}.{}", diagnosis.cuda_code.empty() ? "" : " ", code / 10, code % 10);
  for (const Precision precision : precisions_of_cpu())
    diagnosis.convolutions.push_back(try_convolution("cpu", precision));
  for (const GpuDiagnosis& gpu : diagnosis.gpus) {
    if (gpu.health != Health::good) continue;
    for (const Precision precision : enum_values<Precision>()) {
      if (!cuda::why_not_in(precision, gpu.facts))
        diagnosis.convolutions.push_back(try_convolution("cuda:" + std::to_string(gpu.index), precision));
    }
  }
  return diagnosis;
}

std::string to_table(const Diagnosis& diagnosis) {
  std::string text;
  for (const auto& library : diagnosis.libraries)
    text += library_line(library) + trouble(library.problem, library.remedy);
  if (!diagnosis.cuda_code.empty())
    text += fmt::format("{:<22} {:<7} compute capability {} and newer (PTX)\n", "GPU code", "",
                        diagnosis.cuda_code);
  for (const auto& gpu : diagnosis.gpus) {
    text +=
        fmt::format("{:<22} {:<7} {}, compute capability {}.{} ({}), {} of {} free\n",
                    "cuda:" + std::to_string(gpu.index), word(gpu.health), gpu.facts.name, gpu.facts.major,
                    gpu.facts.minor, gpu.has_code ? "code in this build" : "no code in this build",
                    format_bytes(static_cast<double>(gpu.facts.free_bytes)),
                    format_bytes(static_cast<double>(gpu.facts.total_bytes)));
    text += trouble(gpu.problem, gpu.remedy);
  }
  for (const auto& convolution : diagnosis.convolutions) {
    const ConvolutionCheck& check = convolution.check;
    text += fmt::format("{:<22} {:<7} ", fmt::format("convolution {}", enum_name(convolution.precision)),
                        word(convolution.health));
    text += fmt::format("{}: error forward {:.1e}, backward {:.1e} and {:.1e}, allowed {:.0e}\n",
                        convolution.device, check.forward, check.backward_data, check.backward_weights,
                        check.tolerance);
    text += trouble(convolution.problem, convolution.remedy);
  }
  return text;
}

Json to_json(const Diagnosis& diagnosis) {
  Json json{{"healthy", diagnosis.healthy()},
            {"libraries", Json::array()},
            {"cuda_code", diagnosis.cuda_code},
            {"gpus", Json::array()},
            {"convolutions", Json::array()}};
  for (const auto& l : diagnosis.libraries) {
    json["libraries"].push_back(trouble_json({{"name", l.name},
                                              {"found", l.found},
                                              {"built_for", l.built_for},
                                              {"needed", l.needed},
                                              {"path", l.path}},
                                             l.health, l.problem, l.remedy));
  }
  for (const auto& g : diagnosis.gpus) {
    json["gpus"].push_back(
        trouble_json({{"index", g.index},
                      {"name", g.facts.name},
                      {"compute_capability", fmt::format("{}.{}", g.facts.major, g.facts.minor)},
                      {"code_in_build", g.has_code},
                      {"total_bytes", g.facts.total_bytes},
                      {"free_bytes", g.facts.free_bytes}},
                     g.health, g.problem, g.remedy));
  }
  for (const auto& c : diagnosis.convolutions) {
    json["convolutions"].push_back(trouble_json({{"device", c.device},
                                                 {"precision", std::string(enum_name(c.precision))},
                                                 {"forward_error", c.check.forward},
                                                 {"backward_data_error", c.check.backward_data},
                                                 {"backward_weights_error", c.check.backward_weights},
                                                 {"tolerance", c.check.tolerance}},
                                                c.health, c.problem, c.remedy));
  }
  return json;
}

std::vector<int> working_gpus(const Diagnosis& diagnosis) {
  std::vector<int> working;
  for (const GpuDiagnosis& gpu : diagnosis.gpus) {
    const std::string name = "cuda:" + std::to_string(gpu.index);
    const bool computes = std::none_of(
        diagnosis.convolutions.begin(), diagnosis.convolutions.end(),
        [&](const ConvolutionDiagnosis& c) { return c.device == name && c.health != Health::good; });
    if (gpu.health == Health::good && computes) working.push_back(gpu.index);
  }
  return working;
}

MachineReport examine_machine() {
  const Diagnosis diagnosis = diagnose();
  return {.healthy = diagnosis.healthy(),
          .answer = {to_table(diagnosis), to_text(to_json(diagnosis))},
          .gpus = static_cast<int>(diagnosis.gpus.size()),
          .working_gpus = working_gpus(diagnosis)};
}

}  // namespace brightnet
