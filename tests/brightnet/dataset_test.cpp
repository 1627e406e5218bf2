// What labels say and what a training sees of them, on images that are no squares.
#include "brightnet/dataset.h"

#include <algorithm>
#include <array>
#include <map>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>

#include "brightnet/data.h"
#include "brightnet/error.h"
#include "core/files.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class LabeledData : public ::testing::Test {
 protected:
  LabeledData() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~LabeledData() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "labeled_data";
};

TEST_F(LabeledData, HasItsCornersItsSidesAndItsMarks) {
  cv::imwrite((folder_ / "a.png").string(), cv::Mat(40, 60, CV_8UC3, cv::Scalar(1, 2, 3)));
  write_atomically(folder_ / "model.yaml", std::string(small_model));
  write_atomically(folder_ / "a.json", std::string(R"({
  "images": [{"id": 1, "file_name": "a.png", "width": 60, "height": 40}],
  "categories": [{"id": 1, "name": "circle"}, {"id": 2, "name": "square"}],
  "annotations": [
    {"id": 1, "image_id": 1, "category_id": 2, "bbox": [4, 6, 20, 10], "area": 200, "iscrowd": 0},
    {"id": 2, "image_id": 1, "category_id": 1, "bbox": [30, 1, 5, 30], "area": 150, "iscrowd": 1}]
})"));
  write_atomically(
      folder_ / "run.yaml",
      std::string("model: model.yaml\ndata: {format: coco, root: ., train: a.json, val: a.json}\n"));
  const LabeledImages read = read_images((folder_ / "run.yaml").string(), "train");
  EXPECT_EQ(read.classes, (std::vector<std::string>{"circle", "square"}));
  ASSERT_EQ(read.images.size(), 1u);
  EXPECT_EQ(read.images[0].height, 40);
  EXPECT_EQ(read.images[0].width, 60);
  EXPECT_EQ(read.images[0].file.filename(), "a.png");
  ASSERT_EQ(read.images[0].boxes.size(), 2u);
  const LabeledBox &square = read.images[0].boxes[0], &crowd = read.images[0].boxes[1];
  EXPECT_EQ((std::array{square.x1, square.y1, square.x2, square.y2}), (std::array{4.0f, 6.0f, 24.0f, 16.0f}));
  EXPECT_EQ(square.class_id, 1);
  EXPECT_FALSE(square.crowd || square.difficult);
  EXPECT_EQ(crowd.class_id, 0);
  EXPECT_TRUE(crowd.crowd);
  EXPECT_FALSE(crowd.difficult);
}

TEST_F(LabeledData, SaysWhichLabelsWereCorrectedOrLeftOut) {
  fs::create_directories(folder_ / "images/train");
  for (const char* name : {"images/train/a.png", "images/train/b.png"})
    cv::imwrite((folder_ / name).string(), cv::Mat(40, 60, CV_8UC3, cv::Scalar(1, 2, 3)));
  write_atomically(folder_ / "model.yaml", std::string(small_model));
  fs::create_directories(folder_ / "labels/train");
  write_atomically(folder_ / "labels/train/a.txt", std::string("0 0.5 0.5 0.2 0.2\n0 0.9 0.5 0.6 0.2\n"));
  write_atomically(folder_ / "labels/train/b.txt", std::string("0 0.5 0.5 0.2 0.2\n"));
  write_atomically(folder_ / "run.yaml",
                   std::string("model: model.yaml\ndata: {format: yolo, root: ., train: images/train, "
                               "val: images/train, classes: [circle]}\n"));
  const LabeledImages read = read_images((folder_ / "run.yaml").string(), "train");
  ASSERT_EQ(read.images.size(), 2u);
  ASSERT_EQ(read.problems.size(), 1u);
  EXPECT_NE(read.problems[0].find("a.txt:2: "), std::string::npos) << read.problems[0];
  EXPECT_NE(read.problems[0].find("clipped"), std::string::npos) << read.problems[0];
}

// Without augmentation a batch has the boxes of its images.
TEST_F(LabeledData, IsWhatATrainingSees) {
  make_synthetic_dataset({.train_images = 6, .val_images = 1, .size = 96, .height = 64, .max_objects = 3},
                         folder_ / "data");
  const std::string data = (folder_ / "data").string();
  using Objects = std::vector<std::array<float, 5>>;
  Objects expected, seen;
  for (const LabeledImage& image : read_images(data, "train").images) {
    EXPECT_EQ(image.width, 96);
    EXPECT_EQ(image.height, 64);
    for (const LabeledBox& box : image.boxes)
      expected.push_back({static_cast<float>(box.class_id), (box.x1 + box.x2) / 2 / 96,
                          (box.y1 + box.y2) / 2 / 64, (box.x2 - box.x1) / 96, (box.y2 - box.y1) / 64});
  }
  TrainingBatchOptions plain{.data = data,
                             .settings = {"augment.mosaic=0", "augment.flip=0", "augment.jitter=0",
                                          "augment.hue=0", "loader.workers=0"},
                             .batch = 2,
                             .height = 64,
                             .width = 96};
  TrainingBatches batches(plain);
  uint64_t step = 0;
  while (const TrainingBatch* batch = batches.next()) {
    EXPECT_EQ(batch->step, step++);
    EXPECT_EQ(batch->epoch, 0u);
    for (const TrainingBatch::Truth& truth : batch->truths) {
      EXPECT_TRUE(truth.image == 0 || truth.image == 1);
      seen.push_back({static_cast<float>(truth.class_id), truth.x, truth.y, truth.w, truth.h});
    }
  }
  EXPECT_EQ(step, 3u);
  ASSERT_EQ(seen.size(), expected.size());
  std::sort(seen.begin(), seen.end());
  std::sort(expected.begin(), expected.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t k = 0; k < 5; ++k) EXPECT_NEAR(seen[i][k], expected[i][k], 2e-3) << i << ' ' << k;
  }
}

TEST_F(LabeledData, AnotherSeedGivesOtherBatches) {
  make_synthetic_dataset({.train_images = 4, .val_images = 1, .size = 32}, folder_ / "data");
  const auto pixels = [&](const std::string& seed) {
    TrainingBatches batches({.data = (folder_ / "data").string(),
                             .settings = {"train.seed=" + seed, "loader.workers=0"},
                             .batch = 4,
                             .height = 32,
                             .width = 32});
    const TrainingBatch* batch = batches.next();
    return std::vector<uint8_t>(batch->pixels, batch->pixels + 4 * 32 * 32 * 3);
  };
  EXPECT_EQ(pixels("5"), pixels("5"));
  EXPECT_NE(pixels("5"), pixels("6"));
}

TEST_F(LabeledData, BatchesAreGreyWhereTheConfigurationSaysSo) {
  make_synthetic_dataset({.train_images = 4, .val_images = 1, .size = 32}, folder_ / "data");
  for (const int channels : {1, 3}) {
    TrainingBatches batches({.data = (folder_ / "data").string(),
                             .settings = {"input.channels=" + std::to_string(channels), "loader.workers=0"},
                             .batch = 4,
                             .height = 32,
                             .width = 32});
    EXPECT_EQ(batches.next()->channels, channels);
  }
}

// A stranger who gives train.sizes believes that the batches have several.
TEST_F(LabeledData, KeysWithoutAnEffectOnBatchesAreRefused) {
  make_synthetic_dataset({.train_images = 4, .val_images = 1, .size = 32}, folder_ / "data");
  const auto said = [&](const std::string& setting) -> std::string {
    try {
      TrainingBatches({.data = (folder_ / "data").string(),
                       .settings = {setting},
                       .batch = 2,
                       .height = 32,
                       .width = 32});
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const std::string key : {"train.sizes=[64, 128]", "train.iterations=5", "optimizer.rate=0.1",
                                "schedule.warmup=1", "ema.decay=0", "evaluate.every=3", "head.iou_loss=ciou",
                                "model=yolov4", "name=a", "loader.decode=gpu"}) {
    const std::string words = '\'' + key.substr(0, key.find('=')) + "' has no effect on batches";
    EXPECT_NE(said(key).find(words), std::string::npos) << said(key);
  }
  for (const auto& [key, option] : std::map<std::string, std::string>{
           {"train.batch=4", "the batch"}, {"train.size=96", "the size"}, {"train.epochs=3", "the epochs"}})
    EXPECT_NE(said(key).find("Give " + option + " beside the settings"), std::string::npos) << said(key);
  EXPECT_NE(said("train={seed: 3, batch: 4}").find("'train.batch' has no effect"), std::string::npos)
      << said("train={seed: 3, batch: 4}");
  for (const char* key :
       {"data.fraction=0.5", "augment={mosaic: 0, flip: 0}", "augment.mosaic=0", "train.seed=3",
        "train={seed: 3}", "input.channels=1", "loader.workers=0", "loader.cache_mb=0"})
    EXPECT_EQ(said(key), "accepted") << key;
  EXPECT_NE(said("trian.seed=3").find("unknown key"), std::string::npos) << said("trian.seed=3");
}

TEST_F(LabeledData, OptionsBelowOneAreRefused) {
  for (const auto& change : std::vector<void (*)(TrainingBatchOptions&)>{
           [](TrainingBatchOptions& o) { o.batch = 0; }, [](TrainingBatchOptions& o) { o.height = 0; },
           [](TrainingBatchOptions& o) { o.width = 0; }, [](TrainingBatchOptions& o) { o.epochs = 0; }}) {
    TrainingBatchOptions wrong{.data = folder_.string()};
    change(wrong);
    try {
      TrainingBatches{wrong};
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("at least 1"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
