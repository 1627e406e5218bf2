// Detection in tiles: of images and videos, against an evaluation's and against files of the tiles.
#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "data/formats/read.h"
#include "data/image/read_image.h"
#include "detect/detect.h"
#include "detect/evaluate/evaluate.h"
#include "detect/merge_tiles.h"
#include "detect/sources/source.h"
#include "tests/detect/clip.h"
#include "tests/train/small_weights.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using testing::SmallRun;

void expect_same(const std::vector<ScoredBox>& a, const std::vector<ScoredBox>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i].x1, b[i].x1, 2e-3) << i;
    EXPECT_NEAR(a[i].y1, b[i].y1, 2e-3) << i;
    EXPECT_NEAR(a[i].x2, b[i].x2, 2e-3) << i;
    EXPECT_NEAR(a[i].y2, b[i].y2, 2e-3) << i;
    EXPECT_EQ(a[i].class_id, b[i].class_id) << i;
    EXPECT_NEAR(a[i].score, b[i].score, 1e-5) << i;
  }
}

class DetectInTiles : public ::testing::Test {
 protected:
  DetectInTiles() {
    options_.nms.score = 0.26f;
    options_.tiles.size = 64;
    DataOptions data;
    data.root = (run_.folder() / "data").string();
    data.train = "images/train";
    data.classes = {"circle", "square"};
    dataset_ = read_dataset(data, Split::train);
  }

  std::unique_ptr<InferenceNetwork> network(int batch) {
    auto inference = std::make_unique<InferenceNetwork>(load_trained_model(weights_), *backend_,
                                                        Precision::fp32, batch, 0);
    inference->set_resize(resize_);
    return inference;
  }

  std::vector<std::vector<ScoredBox>> detected(const fs::path& source, int batch) {
    const auto inference = network(batch);
    const auto opened = open_source(source.string());
    std::vector<std::vector<ScoredBox>> all;
    detect(*inference, *opened, options_, [&](const FoundObjects& found) {
      all.push_back(found.boxes);
      return true;
    });
    return all;
  }

  std::vector<std::vector<ScoredBox>> evaluated(int batch) {
    const auto inference = network(batch);
    std::vector<std::vector<ScoredBox>> all;
    detect_images(inference->engine(), dataset_, inference->fit(), options_, {},
                  [&](int, std::span<const ScoredBox> boxes) {
                    all.emplace_back(boxes.begin(), boxes.end());
                    return true;
                  });
    return all;
  }

  // Below twice the input, so that an evaluation decodes at full size as detection does.
  SmallRun run_{4, 1, 120};
  fs::path weights_ = testing::write_small_weights(run_);
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  DetectOptions options_;
  Resize resize_ = Resize::antialiased;
  Dataset dataset_;
};

TEST_F(DetectInTiles, FindsWhatItFindsInFilesOfTheTiles) {
  const auto inference = network(1);
  DetectOptions plain = options_;
  plain.tiles = {};
  const auto found = detected(run_.folder() / "data/images/train", 3);
  ASSERT_EQ(found.size(), dataset_.images.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const cv::Mat picture = read_image(dataset_.images[i].file);
    std::vector<ScoredBox> all;
    const auto tiles = tiles_of(picture.cols, picture.rows, options_.tiles);
    EXPECT_EQ(tiles.size(), 10u);
    for (const ImageTile& tile : tiles) {
      cv::Mat bgr;
      cv::cvtColor(picture(cv::Rect(tile.x, tile.y, tile.width, tile.height)), bgr, cv::COLOR_RGB2BGR);
      const fs::path file = run_.folder() / "tile.png";
      cv::imwrite(file.string(), bgr);
      const auto source = open_source(file.string());
      detect(*inference, *source, plain, [&](const FoundObjects& of_tile) {
        for (ScoredBox box : of_tile.boxes) {
          box.x1 += static_cast<float>(tile.x), box.x2 += static_cast<float>(tile.x);
          box.y1 += static_cast<float>(tile.y), box.y2 += static_cast<float>(tile.y);
          all.push_back(box);
        }
        return true;
      });
    }
    ASSERT_GT(all.size(), 10u);
    expect_same(found[i], merge_tiles(all, options_.tiles, options_.nms.max_detections));
  }
}

TEST_F(DetectInTiles, FindsWhatAnEvaluationFindsInAnyBatch) {
  for (const bool whole : {true, false}) {
    options_.tiles.whole = whole;
    const auto expected = detected(run_.folder() / "data/images/train", 1);
    for (const int batch : {1, 4, 16}) {
      options_.workers = batch == 4 ? 3 : 1;
      const auto found = evaluated(batch), again = detected(run_.folder() / "data/images/train", batch);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_FALSE(found[i].empty());
        expect_same(found[i], expected[i]);
        expect_same(again[i], expected[i]);
      }
    }
  }
}

TEST_F(DetectInTiles, IsPlainDetectionWhereOneTileHoldsThePicture) {
  const TileOptions one{.size = 120};
  for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
    resize_ = resize;
    options_.tiles = one;
    const auto in_tiles = detected(run_.folder() / "data/images/train", 2);
    const auto evaluation = evaluated(2);
    options_.tiles = {};
    const auto plain = detected(run_.folder() / "data/images/train", 2);
    ASSERT_EQ(in_tiles.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      EXPECT_FALSE(plain[i].empty());
      expect_same(in_tiles[i], plain[i]);
      expect_same(evaluation[i], plain[i]);
    }
  }
}

TEST_F(DetectInTiles, TakesTheFramesOfAVideoAndTheClassesAskedFor) {
  testing::write_clip(run_.folder() / "clip.avi", 5);
  options_.tiles.size = 32;
  const auto all = detected(run_.folder() / "clip.avi", 4);
  ASSERT_EQ(all.size(), 5u);
  options_.classes = {false, true};
  for (const auto& boxes : detected(run_.folder() / "clip.avi", 4)) {
    for (const ScoredBox& box : boxes) EXPECT_EQ(box.class_id, 1);
  }
}

TEST_F(DetectInTiles, MeasuresALossForEveryPictureAndTheSameMetricsOverRanks) {
  InferenceNetwork inference(load_trained_model(weights_), *backend_, Precision::fp32, 4, 0, true);
  const auto metrics = evaluate(inference.engine(), dataset_, inference.fit(), options_);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->images, 4);
  ASSERT_TRUE(metrics->loss);
  EXPECT_GT(metrics->loss->total(), 0);
  const auto losses_of_rank = [&](RankPart part) {
    std::vector<YoloLoss> losses;
    detect_images(
        inference.engine(), dataset_, inference.fit(), options_, part,
        [](int, std::span<const ScoredBox>) { return true; }, &losses);
    return losses;
  };
  const auto all = losses_of_rank({}), even = losses_of_rank({0, 2}), odd = losses_of_rank({1, 2});
  ASSERT_EQ(all.size(), 4u);
  ASSERT_EQ(even.size(), 2u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_GT(all[i].objectness, 0);
    EXPECT_NEAR((i % 2 == 0 ? even : odd)[i / 2].objectness, all[i].objectness, 1e-5 * all[i].objectness);
  }
}

}  // namespace
}  // namespace brightnet
