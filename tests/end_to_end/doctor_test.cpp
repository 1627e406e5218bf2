// What the program says of the machine it is on, from outside.
#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernels/cuda/installation.h"
#include "tests/end_to_end/program.h"

namespace brightnet {
namespace {

using testing::run_program;

std::filesystem::path own_folder() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = std::filesystem::path(::testing::TempDir()) / ("doctor_" + std::string(test->name()));
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(Doctor, SaysTheSameToPeopleAndProgramsAndExitsByIt) {
  const auto folder = own_folder();
  const auto answer = run_program({"doctor", "--json"}, folder);
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(answer.code, json.at("healthy").get<bool>() ? 0 : 3) << answer.out;
  const auto table = run_program({"doctor"}, folder);
  EXPECT_EQ(table.code, answer.code);
  for (const auto& library : json.at("libraries"))
    EXPECT_NE(table.out.find(library.at("name").get<std::string>()), std::string::npos) << table.out;
  bool onednn = false;
  for (const auto& library : json.at("libraries")) onednn = onednn || library.at("name") == "oneDNN";
  EXPECT_TRUE(onednn);
  // The CPU convolves in two precisions wherever this runs.
  int on_cpu = 0;
  for (const auto& convolution : json.at("convolutions")) {
    if (convolution.at("device") != "cpu") continue;
    ++on_cpu;
    EXPECT_EQ(convolution.at("status"), "ok") << convolution;
    EXPECT_LE(convolution.at("forward_error"), convolution.at("tolerance"));
  }
  EXPECT_EQ(on_cpu, 2);
}

TEST(Doctor, AMachineWithoutAGpuIsHealthy) {
  if (!cuda::inspect(0).gpus.empty() || cuda::have_gpu_files()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(run_program({"doctor"}, own_folder()).code, 0);
}

// It must start where neither CUDA's libraries nor MPI are, so none may be what the loader needs.
TEST(Doctor, TheProgramIsLinkedWithNoneOfCudasLibrariesAndNoMpi) {
  const auto folder = own_folder();
  const std::string list = (folder / "libraries.txt").string();
  const std::string command = "LC_ALL=C ldd '" + testing::program().string() + "' >'" + list + "' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string libraries = read_file(list);
  EXPECT_NE(libraries.find("libdnnl"), std::string::npos) << libraries;
  for (const char* name : {"libcuda", "libcudart", "libcudnn", "libnccl", "libcublas", "libnvrtc", "libmpi"})
    EXPECT_EQ(libraries.find(name), std::string::npos) << name << " in:\n" << libraries;
}

}  // namespace
}  // namespace brightnet
