#include "train/report/description.h"

#include <fmt/format.h>

#include "tests/train/small_training.h"
#include "train/run/data_fingerprint.h"

namespace brightnet::testing {
namespace {

TEST(RunDescription, HasTheImagesObjectsAndFingerprintOfEachSplit) {
  const SmallRun run(12, 4);
  SmallTraining training(run.load(), run.folder() / "out");
  const Trainer trainer = training.make();
  const RunDescription described = describe_run(*training.setup, training.layout, 0);
  const auto expected = [](const Dataset& split) {
    size_t objects = 0;
    for (const ImageRecord& image : split.images) objects += image.annotations.size();
    return fmt::format("{} images with {} objects; fingerprint {:016x}", split.images.size(), objects,
                       fingerprint(split).hash);
  };
  ASSERT_NE(expected(training.train), expected(training.val));
  ASSERT_GE(described.data.size(), 2u);
  EXPECT_EQ(described.data[0].first, "training split");
  EXPECT_EQ(described.data[0].second, expected(training.train));
  EXPECT_EQ(described.data[1].first, "validation split");
  EXPECT_EQ(described.data[1].second, expected(training.val));
}

TEST(RunDescription, CountsTheObjectsOfThePicturesThatTilesAreCutFrom) {
  const SmallRun run(12, 4);
  SmallTraining training(run.load(), run.folder() / "out");
  const Trainer trainer = training.make();
  const Dataset pictures = training.train;
  training.train.images.insert(training.train.images.end(), pictures.images.begin(), pictures.images.end());
  const auto counted = [&] { return describe_run(*training.setup, training.layout, 0).training_objects; };
  ASSERT_NE(counted(), pictures.objects_of_classes());
  training.setup->pictures = &pictures;
  EXPECT_EQ(counted(), pictures.objects_of_classes());
}

}  // namespace
}  // namespace brightnet::testing
