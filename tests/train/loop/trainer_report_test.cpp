// What a run tells TensorBoard within its epochs.
#include <cstring>

#include <gtest/gtest.h>

#include "tests/train/small_training.h"
#include "train/report/report_observer.h"

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

TEST(TrainerReport, HasTheMeansSinceItsLastPointInEveryEpoch) {
  SmallRun run;
  double clock = 1000;
  SmallTraining training(run.load({"train.log_every=1"}), run.folder() / "out");
  training.now = [&clock] { return clock; };
  const Trainer trainer = training.make();
  ReportObserver observer(*training.setup, training.layout, {});
  TrainingStatus status;
  status.epoch = 1;
  status.epochs = 2;
  observer.run_began({.status = status});
  // The sums of the epoch after so many of its steps, of four images each.
  const auto step = [&](int64_t steps, double norm, double seconds) {
    clock += 10;
    ++status.iteration;
    status.step = steps;
    status.losses.images = status.sums.images = 4.0 * static_cast<double>(steps);
    status.losses.steps = static_cast<double>(steps);
    status.losses.norm = norm;
    status.sums.seconds = seconds;
    observer.step_done({status});
  };
  step(1, 2, 1);
  step(2, 2 + 3, 1 + 2);
  status.step = 0;
  status.epochs_done = 1;
  observer.epoch_ended({status, nullptr});
  step(1, 5, 4);
  step(2, 5 + 7, 4 + 8);
  EXPECT_EQ(scalars(training.folder.path(), "step/gradient_norm"), (std::vector<float>{2, 3, 5, 7}));
  EXPECT_EQ(scalars(training.folder.path(), "step/images_per_s"), (std::vector<float>{4, 2, 1, 0.5}));
}

}  // namespace
}  // namespace brightnet::testing
