#include "bench/doctor.h"

#include <cmath>

#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/wrapped_convolution.h"

namespace brightnet {
namespace {

cuda::Installation plain_machine() {
  cuda::Installation machine;
  machine.built = true;
  machine.architectures = {90};
  machine.driver.problem = "none is installed (libcuda.so.1 cannot be loaded)";
  machine.runtime.found = "13.0";
  machine.cudnn.problem = "libcudnn.so.9: cannot open shared object file";
  machine.nccl.problem = "libnccl.so.2: cannot open shared object file";
  machine.nvjpeg.problem = "libnvjpeg.so.13: cannot open shared object file";
  return machine;
}

cuda::Installation machine_with_gpus(size_t count) {
  cuda::Installation machine = plain_machine();
  machine.gpu_files = true;
  machine.driver = {"13.0", "13.0", "", "", ""};
  machine.cudnn = {"9.19.0", "9.19.0", "", "", ""};
  machine.nccl = {"2.28.9", "2.28.9", "", "", ""};
  machine.gpus.assign(count, {"Card", 9, 0, 1, 1, ""});
  return machine;
}

Diagnosis diagnosis_of(const cuda::Installation& machine) {
  Diagnosis diagnosis;
  diagnosis.libraries = diagnose_cuda(machine);
  diagnosis.gpus = diagnose_gpus(machine);
  return diagnosis;
}

Health health_of(const Diagnosis& diagnosis, const std::string& name) {
  for (const auto& library : diagnosis.libraries) {
    if (library.name == name) return library.health;
  }
  ADD_FAILURE() << "no line for " << name;
  return Health::good;
}

TEST(Diagnosis, AMachineWithoutAGpuIsHealthyWithoutItsLibraries) {
  const Diagnosis diagnosis = diagnosis_of(plain_machine());
  EXPECT_TRUE(diagnosis.healthy());
  EXPECT_EQ(health_of(diagnosis, "NVIDIA driver (CUDA)"), Health::absent);
  EXPECT_EQ(health_of(diagnosis, "cuDNN"), Health::absent);
  EXPECT_EQ(health_of(diagnosis, "nvJPEG"), Health::absent);
  cuda::Installation cpu_build;
  cpu_build.absence = "missing: nvcc";
  EXPECT_TRUE(diagnosis_of(cpu_build).healthy());
}

TEST(Diagnosis, AGpuWorksWhenAllOfItsConvolutionsAreRight) {
  Diagnosis diagnosis = diagnosis_of(machine_with_gpus(4));
  diagnosis.gpus[0].health = Health::broken;
  const auto convolution = [&](const std::string& device, Health health) {
    diagnosis.convolutions.push_back({device, Precision::fp32, health, {}, "", ""});
  };
  convolution("cpu", Health::broken);
  convolution("cuda:1", Health::good);
  convolution("cuda:1", Health::broken);
  convolution("cuda:2", Health::good);
  EXPECT_EQ(working_gpus(diagnosis), (std::vector<int>{2, 3}));
}

TEST(Diagnosis, ADeviceThatCannotBeOpenedIsBrokenAndSaysWhy) {
  const ConvolutionDiagnosis none = try_convolution("cuda:77", Precision::fp32);
  EXPECT_EQ(none.health, Health::broken);
  EXPECT_NE(none.problem.find("CUDA"), std::string::npos) << none.problem;
  EXPECT_EQ(try_convolution("cpu", Precision::fp32).health, Health::good);
}

TEST(Diagnosis, AGpuWithEverythingIsHealthy) {
  EXPECT_TRUE(diagnosis_of(machine_with_gpus(2)).healthy());
}

TEST(Diagnosis, AGpuThatNothingCanUseIsNot) {
  cuda::Installation without_driver = plain_machine();
  without_driver.gpu_files = true;
  EXPECT_FALSE(diagnosis_of(without_driver).healthy());
  cuda::Installation cpu_build;
  cpu_build.absence = "missing: nvcc";
  cpu_build.gpu_files = true;
  EXPECT_FALSE(diagnosis_of(cpu_build).healthy());
  cuda::Installation without_cudnn = machine_with_gpus(1);
  without_cudnn.cudnn = plain_machine().cudnn;
  EXPECT_FALSE(diagnosis_of(without_cudnn).healthy());
  cuda::Installation old_card = machine_with_gpus(1);
  old_card.gpus[0].major = 6;
  EXPECT_FALSE(diagnosis_of(old_card).healthy());
}

TEST(Diagnosis, NcclIsMissedByMoreThanOneGpuOnly) {
  cuda::Installation one = machine_with_gpus(1), two = machine_with_gpus(2);
  one.nccl = two.nccl = plain_machine().nccl;
  EXPECT_TRUE(diagnosis_of(one).healthy());
  EXPECT_FALSE(diagnosis_of(two).healthy());
}

TEST(Diagnosis, NvjpegMayBeMissingAndMayNotBeAnotherLibrary) {
  cuda::Installation machine = machine_with_gpus(1);
  machine.nvjpeg = plain_machine().nvjpeg;
  EXPECT_TRUE(diagnosis_of(machine).healthy());
  machine.nvjpeg = {"13.3.2", "", "", "", "/lib/libnvjpeg.so.13 has no nvjpegDecode"};
  EXPECT_FALSE(diagnosis_of(machine).healthy());
}

TEST(Diagnosis, EveryFailedLineHasItsRemedy) {
  cuda::Installation broken = machine_with_gpus(2);
  broken.driver.problem = "it is too old";
  broken.cudnn = plain_machine().cudnn;
  broken.nccl = plain_machine().nccl;
  const Diagnosis diagnosis = diagnosis_of(broken);
  for (const auto& library : diagnosis.libraries) {
    if (library.health == Health::broken) {
      EXPECT_NE(library.remedy, "") << library.name;
    }
  }
  for (const auto& gpu : diagnosis.gpus) EXPECT_NE(gpu.remedy, "");
  const std::string table = to_table(diagnosis);
  EXPECT_NE(table.find("FAILED"), std::string::npos) << table;
  EXPECT_NE(table.find("-> "), std::string::npos) << table;
}

TEST(Diagnosis, ALineOfALibrarySaysWhatWasFoundWhereAndWhatItWasBuiltFor) {
  Diagnosis diagnosis;
  diagnosis.libraries.push_back(
      {"cuDNN", Health::good, "9.19.0", "9.18.1", "", "/opt/libcudnn.so.9", "", ""});
  diagnosis.libraries.push_back({"NCCL", Health::absent, "", "", "", "", "no such file", "Install it."});
  EXPECT_EQ(to_table(diagnosis),
            "cuDNN                  ok      9.19.0, built for 9.18.1  (/opt/libcudnn.so.9)\n"
            "NCCL                   absent  not found\n"
            "                               no such file\n"
            "                               -> Install it.\n");
}

TEST(Diagnosis, TheCpuConvolvesRightInItsPrecisions) {
  const auto backend = make_cpu_backend();
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const ConvolutionCheck check = check_convolution(*backend, precision);
    EXPECT_TRUE(check.passed()) << check.forward << ' ' << check.backward_data << ' '
                                << check.backward_weights;
    EXPECT_GT(check.forward, 0);
  }
}

/// Convolves with one weight that is not the master's.
class WrongConvolution : public testing::WrappedConvolution {
 public:
  WrongConvolution(std::unique_ptr<Convolution> inner, size_t weights)
      : WrappedConvolution(std::move(inner)), wrong_(weights) {}
  void prepare(const float* master) override {
    wrong_.assign(master, master + wrong_.size());
    wrong_[0] += 1;
    WrappedConvolution::prepare(wrong_.data());
  }
  std::string description() const override { return "wrong"; }

 private:
  std::vector<float> wrong_;
};

class WrongBackend : public cpu::CpuBackend {
 public:
  std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec) override {
    return std::make_unique<WrongConvolution>(cpu::CpuBackend::plan_convolution(spec), spec.weight_count());
  }
};

TEST(Diagnosis, AConvolutionThatIsWrongFails) {
  WrongBackend backend;
  const ConvolutionCheck check = check_convolution(backend, Precision::fp32);
  EXPECT_FALSE(check.passed());
  EXPECT_GT(check.forward, check.tolerance);
  EXPECT_GT(check.backward_data, check.tolerance);
  EXPECT_LE(check.backward_weights, check.tolerance);
}

// Each of its passes alone: with wrong gradients of the weights a network would detect, and not train.
TEST(Diagnosis, AConvolutionIsRightWhenEachOfItsPassesIs) {
  const auto passed = [](double forward, double backward_data, double backward_weights) {
    return ConvolutionCheck{forward, backward_data, backward_weights, 0.25}.passed();
  };
  EXPECT_TRUE(passed(0.25, 0.25, 0.25));
  for (const double wrong : {0.26, std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_FALSE(passed(wrong, 0, 0)) << wrong;
    EXPECT_FALSE(passed(0, wrong, 0)) << wrong;
    EXPECT_FALSE(passed(0, 0, wrong)) << wrong;
  }
}

TEST(Diagnosis, AGpusMemoryIsUnderItsOwnNames) {
  cuda::Installation machine = machine_with_gpus(2);
  machine.gpus[1] = {"Other", 8, 6, size_t{8} << 30, size_t{3} << 30, ""};
  const Json gpu = to_json(diagnosis_of(machine)).at("gpus").at(1);
  EXPECT_EQ(gpu.at("index"), 1);
  EXPECT_EQ(gpu.at("name"), "Other");
  EXPECT_EQ(gpu.at("compute_capability"), "8.6");
  EXPECT_EQ(gpu.at("total_bytes"), size_t{8} << 30);
  EXPECT_EQ(gpu.at("free_bytes"), size_t{3} << 30);
}

TEST(Diagnosis, JsonHasTheDocumentedKeys) {
  const Json json = to_json(diagnosis_of(machine_with_gpus(1)));
  EXPECT_TRUE(json.at("healthy").get<bool>());
  EXPECT_EQ(json.at("gpus").at(0).at("compute_capability"), "9.0");
  for (const char* key : {"name", "found", "built_for", "status", "problem", "remedy"})
    EXPECT_TRUE(json.at("libraries").at(0).contains(key)) << key;
  EXPECT_TRUE(json.at("convolutions").is_array());
}

TEST(Diagnosis, EveryErrorOfAConvolutionHasItsOwnName) {
  Diagnosis diagnosis;
  diagnosis.convolutions.push_back(
      {"cuda:1",
       Precision::bf16,
       Health::broken,
       {.forward = 0.25, .backward_data = 0.5, .backward_weights = 0.75, .tolerance = 0.01},
       "its numbers are wrong",
       "Update it."});
  const Json json = to_json(diagnosis).at("convolutions").at(0);
  EXPECT_EQ(json.at("device"), "cuda:1");
  EXPECT_EQ(json.at("precision"), "bf16");
  EXPECT_EQ(json.at("forward_error"), 0.25);
  EXPECT_EQ(json.at("backward_data_error"), 0.5);
  EXPECT_EQ(json.at("backward_weights_error"), 0.75);
  EXPECT_EQ(json.at("tolerance"), 0.01);
  EXPECT_EQ(json.at("status"), "failed");
  EXPECT_EQ(json.at("problem"), "its numbers are wrong");
  EXPECT_EQ(json.at("remedy"), "Update it.");
  EXPECT_NE(to_table(diagnosis).find("error forward 2.5e-01, backward 5.0e-01 and 7.5e-01, allowed 1e-02"),
            std::string::npos)
      << to_table(diagnosis);
}

}  // namespace
}  // namespace brightnet
