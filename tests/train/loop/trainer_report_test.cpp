// What a run tells TensorBoard within its epochs.
#include <cstring>

#include <gtest/gtest.h>

#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// The values of a scalar in a run's TensorBoard events, where its tag is followed by a field of four bytes.
std::vector<float> scalars(const fs::path& run, const std::string& tag) {
  std::vector<float> values;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (!entry.path().filename().string().starts_with("events.")) continue;
    const std::string bytes = read_file(entry.path());
    for (size_t at = 0; (at = bytes.find(tag, at)) != std::string::npos;) {
      at += tag.size();
      EXPECT_EQ(bytes.at(at), '\x15');
      values.push_back(0);
      std::memcpy(&values.back(), bytes.data() + at + 1, sizeof(float));
    }
  }
  return values;
}

TEST(TrainerReport, HasTheGradientsNormAndTheClippedShareWithinEpochs) {
  SmallRun run;
  SeenWork seen;
  SmallTraining training(run.load({"optimizer.clip=1e-9", "train.log_every=1e-6", "train.epochs=1"}),
                         run.folder() / "out", false, std::make_unique<WatchedBackend>(seen));
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  const auto norms = scalars(training.folder.path(), "step/gradient_norm");
  ASSERT_GE(norms.size(), 1u);
  for (size_t i = 0; i < norms.size(); ++i) EXPECT_FLOAT_EQ(norms[i], static_cast<float>(seen.norms[i]));
  EXPECT_EQ(scalars(training.folder.path(), "step/clipped"), std::vector<float>(norms.size(), 1));
}

}  // namespace
}  // namespace brightnet::testing
