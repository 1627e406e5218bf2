// Which processes take themselves for ranks.
#include "train/distributed/launched_rank.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/environment.h"

namespace brightnet::testing {
namespace {

class LaunchedRankOf : public ::testing::Test {
 protected:
  LaunchedRankOf() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_STEP_ID",
                             "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "WORLD_SIZE", "LOCAL_RANK"}) {
      environment_.set(name, std::nullopt);
    }
  }
  void expect(bool is_rank, int size) {
    const LaunchedRank rank = launched_rank();
    EXPECT_EQ(rank.is_rank, is_rank);
    EXPECT_EQ(rank.size, size);
  }
  Environment environment_;
};

TEST_F(LaunchedRankOf, AShellIsNone) {
  expect(false, 0);
}

TEST_F(LaunchedRankOf, MpirunIsOneOfItsSize) {
  environment_.set("OMPI_COMM_WORLD_SIZE", "4");
  expect(true, 4);
  environment_.set("OMPI_COMM_WORLD_SIZE", "1");
  expect(false, 1);
}

TEST_F(LaunchedRankOf, HydraIsOneOfItsSize) {
  environment_.set("PMI_SIZE", "8");
  expect(true, 8);
}

TEST_F(LaunchedRankOf, SrunIsOneOfTheStepsTasks) {
  environment_.set("SLURM_STEP_ID", "0");
  environment_.set("SLURM_STEP_NUM_TASKS", "16");
  expect(true, 16);
  environment_.set("SLURM_STEP_NUM_TASKS", "1");
  expect(false, 1);
}

TEST_F(LaunchedRankOf, ABatchScriptIsNoneThoughItKnowsItsTasks) {
  environment_.set("SLURM_NTASKS", "16");
  expect(false, 0);
}

TEST_F(LaunchedRankOf, AnUnknownLauncherOfThePmixFamilyTellsNoSize) {
  environment_.set("PMIX_RANK", "3");
  expect(true, 0);
}

// Each of them would train alone, in a folder of its own.
TEST_F(LaunchedRankOf, ProcessesOfTorchrunAreRefused) {
  environment_.set("WORLD_SIZE", "4");
  expect(false, 0);
  environment_.set("LOCAL_RANK", "3");
  try {
    launched_rank();
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("one of 4 processes"), std::string::npos) << error.what();
  }
  environment_.set("OMPI_COMM_WORLD_SIZE", "1");  // of what has started torchrun
  EXPECT_THROW(launched_rank(), InputError);
  environment_.set("OMPI_COMM_WORLD_SIZE", "4");
  expect(true, 4);
  environment_.set("OMPI_COMM_WORLD_SIZE", std::nullopt);
  environment_.set("WORLD_SIZE", "1");
  expect(false, 0);
}

}  // namespace
}  // namespace brightnet::testing
