// Which machines are refused, and with which messages; on invented installations.
#include "kernels/cuda/installation.h"

#include <gtest/gtest.h>

namespace brightnet::cuda {
namespace {

Installation working_machine() {
  Installation machine;
  machine.built = true;
  machine.architectures = {75, 80, 86, 89, 90, 100, 120};
  machine.driver = {"13.0", "13.0", "13.0 or newer", "", ""};
  machine.runtime = {"13.0", "13.0", "", "", ""};
  machine.cudnn = {"9.19.0", "9.19.0", "9.0.0 or newer", "/lib/libcudnn.so.9", ""};
  machine.nccl = {"2.28.9", "2.28.9", "", "/lib/libnccl.so.2", ""};
  machine.gpus = {{"Card A", 9, 0, size_t{80} << 30, size_t{79} << 30, ""}};
  machine.gpu_files = true;
  return machine;
}

/// The problem's whole text.
std::string refusal(const Installation& machine, int index = 0) {
  const auto problem = why_unusable(machine, index);
  return problem ? problem->what + " | " + problem->remedy : "";
}

void expect_mentions(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(CudaInstallation, AWorkingMachineIsNotRefused) {
  EXPECT_EQ(refusal(working_machine()), "");
}

TEST(CudaInstallation, ABuildWithoutCudaSaysWhyAndHowToGetOne) {
  Installation machine;
  machine.absence = "missing when it was configured: nvcc";
  expect_mentions(refusal(machine), {"no CUDA backend", "nvcc", "scripts/setup --cuda", "--device cpu"});
}

TEST(CudaInstallation, NoDriverAndTooOldADriverAreToldApart) {
  Installation machine = working_machine();
  machine.gpus.clear();
  machine.driver = {"", "13.0", "13.0 or newer", "", "none is installed (libcuda.so.1 cannot be loaded)"};
  expect_mentions(refusal(machine), {"libcuda.so.1", "13.0 or newer", "Install NVIDIA's driver"});
  machine.driver = {"12.4", "13.0", "13.0 or newer", "", "it is too old"};
  expect_mentions(refusal(machine), {"too old", "12.4", "13.0 or newer", "Update NVIDIA's driver"});
}

TEST(CudaInstallation, AGpuThatIsNotThereIsNamedWithThoseThatAre) {
  Installation machine = working_machine();
  expect_mentions(refusal(machine, 1), {"no GPU 1", "1 is visible", "cuda:0"});
  machine.gpus.push_back(machine.gpus[0]);
  machine.visible_devices = "2,3";
  expect_mentions(refusal(machine, 5),
                  {"no GPU 5", "2 are visible", "CUDA_VISIBLE_DEVICES", "2,3", "cuda:1"});
  EXPECT_EQ(refusal(machine, 1), "");
  machine.gpus.clear();
  expect_mentions(refusal(machine), {"no NVIDIA GPU is visible", "CUDA_VISIBLE_DEVICES", "2,3", "unset"});
  machine.visible_devices = "";  // which hides them all
  expect_mentions(refusal(machine), {"no NVIDIA GPU is visible", "CUDA_VISIBLE_DEVICES is ''", "unset"});
}

TEST(CudaInstallation, AnUnsupportedCardIsNamedWithWhatTheBuildCarries) {
  Installation machine = working_machine();
  machine.gpus[0] = {"Old Card", 6, 1, 1, 1, ""};
  expect_mentions(refusal(machine), {"Old Card", "6.1", "7.5, 8.0, 8.6", "12.0", "CUDA 13 supports 7.5"});
  machine.architectures = {90};
  machine.gpus[0] = {"Card B", 8, 6, 1, 1, ""};
  expect_mentions(refusal(machine), {"Card B", "8.6", "9.0", "--cuda-arch 86"});
}

TEST(CudaInstallation, AGpuThatAnswersWithAnErrorIsRefusedWithIt) {
  Installation machine = working_machine();
  machine.gpus.push_back(machine.gpus[0]);
  machine.gpus[1].problem = "uncorrectable ECC error encountered (cudaErrorECCUncorrectable)";
  EXPECT_EQ(refusal(machine, 0), "");
  expect_mentions(refusal(machine, 1), {"GPU 1", "Card A", "cudaErrorECCUncorrectable", "nvidia-smi"});
}

TEST(CudaInstallation, MissingAndUnfitCudnnAreRefusedWithVersions) {
  Installation machine = working_machine();
  machine.cudnn = {"", "9.19.0", "9.0.0 or newer", "", "libcudnn.so.9: cannot open shared object file"};
  expect_mentions(refusal(machine), {"cuDNN", "libcudnn.so.9", "9.0.0 or newer", "scripts/setup --cuda"});
  machine.cudnn = {"9.10.2", "9.19.0", "9.0.0 or newer", "/x", "it is one for CUDA 12.9"};
  expect_mentions(refusal(machine), {"CUDA 12.9", "9.10.2", "LD_LIBRARY_PATH"});
}

TEST(CudaInstallation, CodeRunsOnItsOwnMajorVersionAndPtxOnNewerCards) {
  const std::vector<int> all{75, 80, 86, 89, 90, 100, 120};
  for (const auto& [major, minor] : std::vector<std::pair<int, int>>{
           {7, 5}, {8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {12, 1}, {13, 0}})
    EXPECT_TRUE(has_code_for(all, major, minor)) << major << '.' << minor;
  EXPECT_FALSE(has_code_for(all, 7, 0));
  EXPECT_FALSE(has_code_for(all, 6, 1));
  EXPECT_FALSE(has_code_for(all, 11, 0));
  EXPECT_TRUE(has_code_for({90}, 9, 0));
  EXPECT_TRUE(has_code_for({90}, 12, 0));
  EXPECT_FALSE(has_code_for({90}, 8, 9));
  EXPECT_FALSE(has_code_for({86}, 8, 0));
  EXPECT_FALSE(has_code_for({}, 9, 0));
}

TEST(CudaInstallation, ACardBefore8HasNoBf16AndNoTf32) {
  const GpuFacts turing{"Turing", 7, 5, 1, 1, ""}, ampere{"Ampere", 8, 0, 1, 1, ""};
  EXPECT_FALSE(why_not_in(Precision::fp32, turing));
  EXPECT_FALSE(why_not_in(Precision::fp16, turing));
  ASSERT_TRUE(why_not_in(Precision::bf16, turing));
  EXPECT_NE(why_not_in(Precision::bf16, turing)->remedy.find("fp16"), std::string::npos);
  EXPECT_TRUE(why_not_in(Precision::tf32, turing));
  EXPECT_FALSE(why_not_in(Precision::bf16, ampere));
  EXPECT_FALSE(why_not_in(Precision::tf32, ampere));
}

TEST(CudaInstallation, LookingAtThisMachineThrowsNothing) {
  const Installation machine = inspect();
  EXPECT_EQ(machine.built, machine.absence.empty());
  if (machine.built) {
    EXPECT_FALSE(machine.architectures.empty());
    EXPECT_FALSE(machine.runtime.found.empty());
  }
  for (int gpu = 0; gpu < static_cast<int>(machine.gpus.size()); ++gpu) (void)why_unusable(machine, gpu);
}

TEST(CudaInstallation, LoadsNoLibrariesForAGpuThatIsNotThere) {
  const Installation machine = inspect(0);
  if (!machine.built || !machine.gpus.empty()) GTEST_SKIP() << "there is a GPU, or no CUDA backend";
  for (const LibraryFacts* library : {&machine.cudnn, &machine.nccl, &machine.nvjpeg}) {
    EXPECT_EQ(library->found, "");
    EXPECT_EQ(library->problem, "it was not looked for, as there is no GPU");
  }
}

TEST(CudaInstallation, AskingForAGpuThatCannotBeUsedIsADeviceErrorWithItsReason) {
  const auto problem = why_unusable(inspect(0), 0);
  if (!problem) GTEST_SKIP() << "this machine has a usable GPU";
  try {
    make_backend({});
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ExitCode::device);
    EXPECT_NE(std::string(error.what()).find(problem->what), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace brightnet::cuda
