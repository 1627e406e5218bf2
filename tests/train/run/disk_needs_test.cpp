#include "train/run/disk_needs.h"

#include <gtest/gtest.h>

#include "core/files.h"

namespace brightnet {
namespace {

constexpr uint64_t MiB = 1 << 20;

TEST(DiskNeeds, CountTheStateTwiceAndEveryWeightsFile) {
  const DiskNeeds needs{.state = 100 * MiB, .weights = 30 * MiB, .weights_files = 6};
  EXPECT_EQ(needs.events(), 0u);
  EXPECT_EQ(needs.total(), (200 + 180 + 16) * MiB);
  DiskNeeds longer = needs;
  longer.epochs = longer.evaluations = 10;
  EXPECT_GT(longer.total(), needs.total() + 10 * 1600 * 1600);
}

TEST(DiskNeeds, CountAPictureForEachEvaluationAndNotForEachEpoch) {
  EXPECT_LT(DiskNeeds{.epochs = 1000}.events(), 16 * MiB) << "a row each";
  EXPECT_GT(DiskNeeds{.evaluations = 1000}.events(), 1000 * MiB);
}

TEST(DiskNeeds, SayWhatADiskLacksAndNothingWhereItIsEnough) {
  const DiskNeeds needs{.state = 100 * MiB, .weights = 30 * MiB, .weights_files = 2};
  EXPECT_EQ(describe_shortage(needs, 0, needs.total(), "runs/a"), "");
  EXPECT_EQ(describe_shortage(needs, 100 * MiB, needs.total() - 100 * MiB, "runs/a"), "")
      << "what a resumed run already has it does not need again";
  const std::string said = describe_shortage(needs, 0, needs.total() - MiB, "runs/a");
  for (const char* part : {"runs/a", "276.0 MiB more", "275.0 MiB are free", "200.0 MiB for the state"})
    EXPECT_NE(said.find(part), std::string::npos) << "'" << part << "' is not in: " << said;
}

TEST(DiskNeeds, FindWhatAFolderHas) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "disk_needs";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "weights");
  write_atomically(folder / "weights/best", std::string(1000, 'x'));
  write_atomically(folder / "metrics.csv", "12345");
  EXPECT_EQ(bytes_in(folder), 1005u);
  EXPECT_EQ(bytes_in(folder / "none"), 0u);
}

}  // namespace
}  // namespace brightnet
