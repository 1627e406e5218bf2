#include "train/report/sample_pictures.h"

#include <set>

#include <opencv2/core.hpp>

#include "data/commands/shard.h"
#include "data/drawing/draw.h"
#include "data/loader/loader.h"
#include "tests/data/loader/taken_batches.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

class SamplePictures : public ::testing::Test {
 protected:
  SamplePictures() : config_(run_.load()), dataset_(read_dataset(config_.data, Split::train)) {
    config_.train.seed = 3;
    config_.augment.rotate = 20;
    config_.augment.noise = 1;
  }

  std::vector<SamplePicture> pictures(const SamplePictureOptions& options) const {
    std::vector<SamplePicture> all;
    picture_samples(dataset_, config_, options, [&](int number, const SamplePicture& sample) {
      EXPECT_EQ(number, static_cast<int>(all.size()));
      all.push_back(sample);
    });
    return all;
  }

  SmallRun run_{6, 2};
  RunConfig config_;
  Dataset dataset_;
};

bool same(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && cv::norm(a, b, cv::NORM_INF) == 0;
}

// Without objects no boxes are drawn, so that the pixels can be compared.
TEST_F(SamplePictures, AreTheFirstSamplesOfTheRun) {
  for (ImageRecord& record : dataset_.images) record.annotations.clear();
  const auto shown = pictures({.count = 8, .seed = 3});
  ASSERT_EQ(shown.size(), 8u) << "more than there are images";
  Loader::Setup setup;
  setup.dataset = &dataset_;
  setup.augment = config_.augment;
  setup.batch = 4;
  setup.sizes = {64};
  setup.seed = 3;
  setup.steps_per_epoch = 2;
  Loader loader(setup);
  for (size_t i = 0; i < 8; i += 4) {
    const Batch* batch = loader.next();
    for (size_t j = 0; j < 4; ++j)
      EXPECT_TRUE(same(shown[i + j].rgb, cv::Mat(64, 64, CV_8UC3, batch->pixels + j * 3 * 64 * 64))) << i + j;
  }
  EXPECT_FALSE(same(shown[0].rgb, pictures({.count = 1, .seed = 4})[0].rgb));
}

TEST_F(SamplePictures, AreTheSameHoweverManyAreShown) {
  for (ImageRecord& record : dataset_.images) record.annotations.clear();
  config_.augment.mosaic = 1;
  const auto few = pictures({.count = 10, .seed = 3, .epoch_samples = 8});
  const auto many = pictures({.count = 20, .seed = 3, .epoch_samples = 8});
  for (size_t i = 0; i < 10; ++i) EXPECT_TRUE(same(few[i].rgb, many[i].rgb)) << i;
}

TEST_F(SamplePictures, GoOnIntoLaterEpochsAndTheLastPartOfTheRun) {
  for (ImageRecord& record : dataset_.images) record.annotations.clear();
  config_.augment.mosaic = 1;
  const auto shown = pictures({.count = 16, .seed = 3, .epoch_samples = 8, .plain_from = 12});
  Loader::Setup setup;
  setup.dataset = &dataset_;
  setup.augment = config_.augment;
  setup.batch = 4;
  setup.sizes = {64};
  setup.seed = 3;
  setup.steps_per_epoch = 2;
  setup.end = RunEnd{4, 3};
  Loader loader(setup);
  for (size_t i = 0; i < 16; i += 4) {
    const Batch* batch = loader.next();
    for (size_t j = 0; j < 4; ++j)
      EXPECT_TRUE(same(shown[i + j].rgb, cv::Mat(64, 64, CV_8UC3, batch->pixels + j * 3 * 64 * 64))) << i + j;
  }
}

TEST_F(SamplePictures, HaveTheirBoxesDrawn) {
  const auto with = pictures({.count = 4, .plain = true});
  size_t objects = 0;
  for (const SamplePicture& sample : with) objects += sample.objects;
  for (ImageRecord& record : dataset_.images) record.annotations.clear();
  const auto without = pictures({.count = 4, .plain = true});
  EXPECT_GE(objects, 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(without[i].objects, 0u);
    EXPECT_EQ(same(with[i].rgb, without[i].rgb), with[i].objects == 0);
  }
}

TEST_F(SamplePictures, ArePlainOutsideOfTraining) {
  for (ImageRecord& record : dataset_.images) record.annotations.clear();
  config_.evaluate.size = 96;
  const auto plain = pictures({.count = 3, .plain = true});
  const auto other_split = pictures({.split = Split::val, .count = 3});
  EXPECT_EQ(plain[0].rgb.cols, 64) << "train.size";
  EXPECT_EQ(other_split[0].rgb.cols, 96) << "evaluate.size";
  EXPECT_FALSE(same(plain[0].rgb, pictures({.count = 3})[0].rgb));
  config_.augment = {};
  EXPECT_TRUE(same(plain[0].rgb, pictures({.count = 3, .plain = true})[0].rgb))
      << "no option of augmentation matters";
}

TEST_F(SamplePictures, AreLetterboxedAsTheRunIsAlsoWhereTheyArePlain) {
  dataset_.images.resize(1);
  ImageRecord& record = dataset_.images[0];
  record.file = run_.folder() / "wide.png";
  record.width = 96;
  record.height = 48;
  record.annotations.clear();
  write_image(record.file, cv::Mat(48, 96, CV_8UC3, cv::Scalar(255, 255, 255)));
  for (const bool letterbox : {false, true}) {
    config_.augment.letterbox = letterbox;
    const cv::Mat shown = pictures({.count = 1, .plain = true}).at(0).rgb;
    EXPECT_GT(shown.at<cv::Vec3b>(32, 32)[0], 250);
    EXPECT_EQ(shown.at<cv::Vec3b>(4, 32)[0] > 250, !letterbox) << "above the picture";
  }
}

TEST_F(SamplePictures, TheirImagesAreThoseOfTheNames) {
  const auto images = sample_images(dataset_, config_.loader, {.count = 6, .seed = 3});
  EXPECT_EQ(std::set<int>(images.begin(), images.end()).size(), 6u);
  for (size_t i = 0; i < dataset_.images.size(); ++i) {
    auto& objects = dataset_.images[i].annotations;
    objects.assign(i, objects.empty() ? Annotation{10, 10, 30, 30} : objects[0]);
  }
  const auto shown = pictures({.count = 6, .seed = 3, .plain = true});
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(shown[i].objects, static_cast<size_t>(images[i]));
}

// Of one grey each, by which a sample tells its image.
TEST_F(SamplePictures, TheirImagesAreThoseOfTheNamesInArchivesToo) {
  dataset_ = grey_dataset(run_.folder(), 12);
  for (ImageRecord& record : dataset_.images) {
    Dataset alone;
    alone.images = {record};
    const auto folder = run_.folder() / ("tars" + record.file.stem().string());
    ASSERT_EQ(shard_split(alone, Split::val, folder, 1), 1);
    record.file = folder / "val/000000.tar" / record.file.filename();
  }
  config_.augment = plain_setup(dataset_).augment;
  for (const int buffer : {1, 4}) {
    config_.loader.shuffle_buffer = buffer;
    const SamplePictureOptions options{.count = 12, .seed = 3};
    const auto images = sample_images(dataset_, config_.loader, options);
    const auto shown = pictures(options);
    for (size_t i = 0; i < 12; ++i)
      EXPECT_EQ(shown[i].rgb.at<cv::Vec3b>(32, 32)[0] / 10 - 1, images[i]) << buffer << ' ' << i;
  }
  config_.loader.shuffle_buffer = 1;
  const auto in_sequence = sample_images(dataset_, config_.loader, {.count = 12, .seed = 3});
  config_.loader.shuffle_buffer = 4096;
  EXPECT_NE(sample_images(dataset_, config_.loader, {.count = 12, .seed = 3}), in_sequence);
}

}  // namespace
}  // namespace brightnet::testing
