#include "data/loader/picture_block.h"

#include <gtest/gtest.h>

#include "tests/data/loader/taken_batches.h"
#include "tests/data/painted.h"

namespace brightnet::testing {
namespace {

// The formulas of a device, on the host.
TEST(Pictures, ShowWhatTheCpuPaintsWithinOneLevelAndTheSameObjects) {
  const Dataset dataset = detailed_dataset(test_folder(), 8);
  for (const int channels : {3, 1}) {
    for (const bool warped : {false, true}) {
      Loader::Setup setup = painted_setup(dataset, warped);
      setup.channels = channels;
      setup.epochs = 6;
      const std::vector<Taken> expected = take_all(setup);
      setup.pictures = true;
      std::vector<Taken> actual = take_all(setup);
      ASSERT_EQ(actual.size(), expected.size());
      Difference difference;
      for (size_t i = 0; i < actual.size(); ++i) {
        ASSERT_EQ(actual[i].pixels.size(), expected[i].pixels.size());
        difference.add(actual[i].pixels.data(), expected[i].pixels.data(), expected[i].pixels.size());
        EXPECT_NE(actual[i].pixels, std::vector<uint8_t>(expected[i].pixels.size()));
        actual[i].pixels = expected[i].pixels;
        EXPECT_TRUE(actual[i] == expected[i]) << "objects and all else are the same";
      }
      // A warped image ends between two pixels: the one shows it to floats, the other to doubles.
      EXPECT_LE(difference.beyond_one, warped ? difference.values / 2000 : 0)
          << difference.most << " levels at most, " << channels << " channels";
    }
  }
}

TEST(Pictures, AreTheSameForAnyNumberOfWorkersAndAnyCache) {
  const Dataset dataset = detailed_dataset(test_folder(), 8);
  Loader::Setup setup = painted_setup(dataset, true);
  setup.pictures = true;
  setup.loader.cache_mb = 0.0f;
  setup.loader.workers = 0;
  const std::vector<Taken> expected = take_all(setup);
  for (const float cache : {0.0f, 0.2f, 100.0f}) {
    setup.loader.cache_mb = cache;
    setup.loader.workers = 3;
    EXPECT_TRUE(take_all(setup) == expected) << cache;
  }
}

TEST(Pictures, OfImagesThatAreTooManyBytesComeFromTheCpu) {
  Dataset dataset;
  const auto folder = test_folder();
  for (const int side :
       {48, 400}) {  // PNG files, which are decoded in full; an input of 32 has room for 64 × 64
    ImageRecord record;
    record.file = folder / (std::to_string(side) + ".png");
    record.width = record.height = side;
    cv::Mat image(side, side, CV_8UC3);
    cv::RNG(3).fill(image, cv::RNG::UNIFORM, 0, 256);
    cv::imwrite(record.file.string(), image);
    dataset.images.push_back(record);
  }
  Loader::Setup setup = plain_setup(dataset);
  setup.batch = 2;
  const std::vector<Taken> expected = take_all(setup);
  setup.pictures = true;
  Loader loader(setup);
  const Batch* batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->pixels, nullptr);
  EXPECT_EQ(batch->painted, 1);
  EXPECT_LE(batch->pictures.bytes, batch->pictures.layout.bytes());
  EXPECT_EQ(batch->pictures.bytes, batch->pictures.layout.pixels_at() + 48 * 48 * 3 + 32 * 32 * 3);
  const std::vector<Taken> actual = take_all(setup);
  Difference difference;
  difference.add(actual[0].pixels.data(), expected[0].pixels.data(), expected[0].pixels.size());
  EXPECT_LE(difference.most, 1);
  setup.epochs = 3;
  setup.loader.workers = 0;  // then each batch has the memory of the one before
  Loader alone(setup);
  int batches = 0;
  for (batch = alone.next(); batch; batch = alone.next(), ++batches)
    EXPECT_EQ(batch->painted, 1) << "of batch " << batches;
  EXPECT_EQ(batches, 3);
}

TEST(Pictures, HaveNoBlurAndNoNoise) {
  AugmentOptions augment;
  EXPECT_EQ(painted_by_cpu_alone(augment), "");
  augment.noise = 0.1f;
  EXPECT_EQ(painted_by_cpu_alone(augment), "noise");
  augment.blur_background = 0.1f;
  EXPECT_EQ(painted_by_cpu_alone(augment), "blur_background");
  augment.blur = 0.1f;
  EXPECT_EQ(painted_by_cpu_alone(augment), "blur");
}

TEST(Pictures, HaveRoomForAllThatIsPutOnAMosaic) {
  const Dataset dataset = draw_dataset(test_folder(), 6);
  for (float AugmentOptions::*option : {&AugmentOptions::cutout, &AugmentOptions::copy_paste,
                                        &AugmentOptions::mixup, &AugmentOptions::cutmix}) {
    Loader::Setup setup = plain_setup(dataset);
    setup.augment.mosaic = setup.augment.*option = 1;
    setup.augment.mosaic_off = 0;
    setup.batch = 6;
    setup.sizes = {192};
    setup.epochs = 3;
    setup.loader.workers = 0;
    setup.pictures = true;
    Loader loader(setup);
    int batches = 0;
    for (const Batch* batch = loader.next(); batch; batch = loader.next(), ++batches)
      EXPECT_EQ(batch->painted, 0) << "none is left to the CPU";
    EXPECT_EQ(batches, 3);
  }
}

}  // namespace
}  // namespace brightnet::testing
