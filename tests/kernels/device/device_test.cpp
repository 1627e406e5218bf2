#include "kernels/device/device.h"

#include <gtest/gtest.h>

#include "kernels/cpu/convolution.h"

namespace brightnet {
namespace {

cuda::Installation machine_with(std::vector<cuda::GpuFacts> gpus) {
  cuda::Installation machine;
  machine.built = true;
  machine.architectures = {75, 80, 90};
  machine.gpus = std::move(gpus);
  machine.gpu_files = true;
  return machine;
}

TEST(Device, NamesAreTakenApart) {
  EXPECT_EQ(parse_device("auto").kind, DeviceKind::automatic);
  EXPECT_EQ(parse_device("cpu").kind, DeviceKind::cpu);
  EXPECT_EQ(parse_device("cuda").kind, DeviceKind::cuda);
  EXPECT_EQ(parse_device("cuda").index, 0);
  EXPECT_EQ(parse_device("cuda:3").index, 3);
}

TEST(Device, OtherNamesAreInputErrors) {
  for (const char* name :
       {"", "gpu", "cdua", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "CPU"}) {
    EXPECT_THROW(parse_device(name), InputError) << name;
  }
}

TEST(Device, SeveralGpusAreRanks) {
  for (const char* name : {"0,2", "cuda:0,2"}) {
    try {
      parse_device(name);
      FAIL() << name;
    } catch (const InputError& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("--ranks 2"), std::string::npos) << text;
      EXPECT_NE(text.find("CUDA_VISIBLE_DEVICES=0,2"), std::string::npos) << text;
    }
  }
  try {
    parse_device("1");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("brightnet says cuda:1."), std::string::npos) << e.what();
  }
}

TEST(Device, AutoTakesTheFirstGpuThatCanBeUsed) {
  std::string remark;
  const cuda::GpuFacts old{"Old", 6, 1, 1, 1, ""}, turing{"Turing", 7, 5, 1, 1, ""},
      hopper{"Hopper", 9, 0, 1, 1, ""};
  EXPECT_EQ(automatic_gpu(machine_with({old, turing, hopper}), Precision::fp16, remark), 1);
  EXPECT_EQ(automatic_gpu(machine_with({old, turing, hopper}), Precision::bf16, remark), 2);
  const cuda::GpuFacts taken{"Taken", 9, 0, 1, 1, "all CUDA-capable devices are busy or unavailable"};
  EXPECT_EQ(automatic_gpu(machine_with({taken, hopper}), Precision::bf16, remark), 1);
}

TEST(Device, AutoSaysWhyItLeavesAGpuAlone) {
  std::string remark;
  EXPECT_EQ(automatic_gpu(machine_with({{"Old", 6, 1, 1, 1, ""}}), Precision::fp32, remark), -1);
  EXPECT_NE(remark.find("Old"), std::string::npos) << remark;
  cuda::Installation without_backend;
  without_backend.absence = "missing: nvcc";
  without_backend.gpu_files = true;
  EXPECT_EQ(automatic_gpu(without_backend, Precision::fp32, remark), -1);
  EXPECT_NE(remark.find("nvcc"), std::string::npos) << remark;
}

TEST(Device, AGpuTrainsFastestInWhatItsTensorCoresCompute) {
  for (const auto& [major, minor, precision] : {std::tuple(9, 0, Precision::bf16),
                                                {8, 0, Precision::bf16},
                                                {7, 5, Precision::fp16},
                                                {6, 1, Precision::fp32}}) {
    cuda::GpuFacts card;
    card.name = "card";
    card.major = major;
    card.minor = minor;
    const FastPrecision fast = fast_precision(card, {});
    EXPECT_EQ(fast.precision, precision) << major << '.' << minor;
    EXPECT_TRUE(fast.gpu);
    EXPECT_NE(fast.reason.find("card"), std::string::npos) << fast.reason;
    EXPECT_FALSE(cuda::why_not_in(fast.precision, card));
  }
}

// Where cuDNN computes batch-norm's sums with a convolution in fp16 alone, a step in bf16 reads every output once more.
TEST(Device, AGpuTrainsFastestInWhatItsConvolutionsAreOffered) {
  cuda::GpuFacts card;
  card.name = "card";
  card.major = 9;
  EXPECT_EQ(fast_precision(card, {.fp16 = true, .bf16 = false}).precision, Precision::fp16);
  EXPECT_EQ(fast_precision(card, {.fp16 = true, .bf16 = true}).precision, Precision::bf16);
  EXPECT_EQ(fast_precision(card, {.fp16 = false, .bf16 = true}).precision, Precision::bf16);
  EXPECT_NE(fast_precision(card, {.fp16 = true, .bf16 = false}).reason.find("sums"), std::string::npos);
  card.major = 6;
  EXPECT_EQ(fast_precision(card, {}).precision, Precision::fp32);
}

TEST(Device, TheCpuTrainsInWhatItsConvolutionsComputeFastest) {
  const FastPrecision fast = fast_precision("cpu");
  EXPECT_EQ(fast.precision, cpu::fast_bf16() ? Precision::bf16 : Precision::fp32);
  EXPECT_FALSE(fast.gpu);
  EXPECT_THROW(fast_precision("cpus"), InputError);
}

// As memory is planned for a GPU on a machine that has none.
TEST(Device, AGpuThatIsElsewhereIsTakenForOneWithTensorCores) {
  const FastPrecision fast = fast_precision("cuda:1000");
  EXPECT_EQ(fast.precision, Precision::bf16);
  EXPECT_TRUE(fast.gpu);
}

TEST(Device, AutoIsQuietWhereThereIsNoGpu) {
  std::string remark = "of before";
  cuda::Installation plain;
  plain.built = true;
  plain.driver.problem = "none is installed";
  EXPECT_EQ(automatic_gpu(plain, Precision::fp32, remark), -1);
  EXPECT_EQ(remark, "");
}

/// On a machine with two GPUs.
std::string device_of(const std::string& device, int rank, int ranks) {
  const cuda::GpuFacts hopper{"Hopper", 9, 0, 1, 1, ""};
  return device_of_rank(device, rank, ranks, machine_with({hopper, hopper}));
}

TEST(DeviceOfRank, EachRankTakesAGpuOfItsOwn) {
  for (const char* device : {"cuda", "auto"}) {
    EXPECT_EQ(device_of(device, 0, 2), "cuda:0");
    EXPECT_EQ(device_of(device, 1, 2), "cuda:1");
  }
}

TEST(DeviceOfRank, AloneOnItsMachineARankTakesWhatWasSaid) {
  EXPECT_EQ(device_of("auto", 0, 1), "auto");
  EXPECT_EQ(device_of("cuda:1", 0, 1), "cuda:1");
}

TEST(DeviceOfRank, RanksOnTheCpuShareIt) {
  EXPECT_EQ(device_of("cpu", 5, 8), "cpu");
  EXPECT_EQ(device_of_rank("auto", 1, 2, machine_with({})), "auto");
  EXPECT_EQ(device_of_rank("cuda", 1, 2, machine_with({})), "cuda") << "opening it says that there is none";
}

TEST(DeviceOfRank, MoreRanksThanGpusAreADeviceError) {
  try {
    device_of("auto", 2, 3);
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("2 GPUs for 3 ranks"), std::string::npos) << e.what();
  }
}

TEST(DeviceOfRank, OneGpuForAllIsAnInputError) {
  EXPECT_THROW(device_of("cuda:0", 0, 2), InputError);
  EXPECT_THROW(device_of("cuda:0", 1, 2), InputError);
}

TEST(DeviceOfRank, ALauncherThatShowsEachRankOneGpuHasDividedThem) {
  const auto machine = machine_with({{"Hopper", 9, 0, 1, 1, ""}});
  EXPECT_EQ(device_of_rank("auto", 3, 4, machine), "auto");
  EXPECT_EQ(device_of_rank("cuda", 3, 4, machine), "cuda");
}

TEST(DeviceOfRank, GpusThatCannotBeUsedLeaveAutoOnTheCpu) {
  cuda::Installation without_backend = machine_with({{"Hopper", 9, 0, 1, 1, ""}, {"Hopper", 9, 0, 1, 1, ""}});
  without_backend.built = false;
  EXPECT_EQ(device_of_rank("auto", 1, 4, without_backend), "auto");
  const cuda::GpuFacts old{"Old", 6, 1, 1, 1, ""};
  EXPECT_EQ(device_of_rank("auto", 2, 4, machine_with({old, old})), "auto");
}

TEST(DeviceOfRank, AutoAsksOfARanksOwnGpuWhetherItCanBeUsed) {
  const cuda::GpuFacts hopper{"Hopper", 9, 0, 1, 1, ""}, old{"Old", 6, 1, 1, 1, ""};
  EXPECT_EQ(device_of_rank("auto", 0, 2, machine_with({hopper, old})), "cuda:0");
  EXPECT_THROW(device_of_rank("auto", 1, 2, machine_with({hopper, old})), DeviceError);
  EXPECT_THROW(device_of_rank("auto", 0, 2, machine_with({old, hopper})), DeviceError);
  EXPECT_EQ(device_of_rank("auto", 1, 2, machine_with({old, hopper})), "cuda:1");
}

TEST(Device, TheCpuRefusesWhatItCannotCompute) {
  EXPECT_THROW(open_device("cpu", Precision::fp16), DeviceError);
  EXPECT_THROW(open_device("cpu", Precision::tf32), DeviceError);
  EXPECT_EQ(open_device("cpu", Precision::bf16)->name(), "cpu");
}

TEST(Device, AGpuThatIsNotThereIsADeviceErrorAndNeverACpu) {
  const auto installation = cuda::inspect(0);
  const int beyond = static_cast<int>(installation.gpus.size());
  EXPECT_THROW(open_device("cuda:" + std::to_string(beyond), Precision::fp32), DeviceError);
  if (beyond == 0) {
    EXPECT_EQ(open_device("auto", Precision::fp32)->name(), "cpu");
  }
}

TEST(Device, PlansForAGpuWithoutHavingOne) {
  if (!cuda::inspect(0).built) GTEST_SKIP() << "this build has no CUDA backend";
  const auto planner = open_planner("cuda", Precision::fp16);
  ConvolutionSpec spec;
  spec.input = {8, 52, 52, 64};
  spec.output = {8, 52, 52, 128};
  spec.kernel = 3;
  spec.padding = 1;
  spec.type = DType::f16;
  const auto convolution = planner->plan_convolution(spec);
  EXPECT_EQ(convolution->weight_bytes(), spec.weight_count() * 2);
  EXPECT_GT(convolution->workspace_bytes(), spec.weight_count() * 4);
  EXPECT_THROW(planner->allocate(1), std::logic_error);
}

}  // namespace
}  // namespace brightnet
