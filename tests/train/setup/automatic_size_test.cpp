#include "train/setup/automatic_size.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace brightnet {
namespace {

Dataset images(const std::vector<std::pair<int, int>>& shapes) {
  Dataset dataset;
  for (const auto& [width, height] : shapes) {
    ImageRecord record;
    record.width = width;
    record.height = height;
    dataset.images.push_back(record);
  }
  return dataset;
}

TEST(AutomaticSize, HasTheImagesRatioAndTheModelsPixels) {
  EXPECT_EQ(fitting_size(images({{500, 500}}), 416, 32), InputSize(416));
  EXPECT_EQ(fitting_size(images({{1920, 1080}}), 416, 32), InputSize(320, 544));
  EXPECT_EQ(fitting_size(images({{1080, 1920}}), 416, 32), InputSize(544, 320));
  EXPECT_EQ(fitting_size(images({{1242, 375}}), 608, 32), InputSize(320, 1088))
      << "KITTI: 3.4, and 3.31 of its images";
  for (const int stride : {32, 64})
    EXPECT_TRUE(fitting_size(images({{1242, 375}}), 416, stride).multiple_of(stride));
}

TEST(AutomaticSize, FollowsTheUsualImageAndNoOutlier) {
  std::vector<std::pair<int, int>> shapes(20, {1280, 720});
  shapes.insert(shapes.end(), 5, {100, 5000});
  EXPECT_EQ(fitting_size(images(shapes), 416, 32), fitting_size(images({{1280, 720}}), 416, 32));
}

TEST(AutomaticSize, IsChosenOnlyWhereItIsAutomatic) {
  RunConfig config;
  Model model;
  model.name = "net";
  config.train.size = 608;
  EXPECT_FALSE(choose_size(config, images({{1920, 1080}}), model));
  EXPECT_EQ(config.train.size, 608);
  config.train.size = {};
  config.train.sizes = {256, 320, 384};
  const auto choice = choose_size(config, images({{1920, 1080}}), model);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->key, "train.size");
  EXPECT_EQ(choice->value, "320x544");
  EXPECT_EQ(config.train.size.value(), InputSize(320, 544));
  EXPECT_EQ(config.train.sizes, (std::vector<InputSize>{{256, 448}, {320, 544}, {384, 640}}));
  EXPECT_NE(choice->reason.find("56 % of a square"), std::string::npos) << choice->reason;
  config.train.size = {};
  EXPECT_THROW(choose_size(config, {}, model), InputError);
}

}  // namespace
}  // namespace brightnet
