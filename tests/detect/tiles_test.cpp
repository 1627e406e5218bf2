// Detection in tiles: of images and videos, against an evaluation's and against files of the tiles.
#include <barrier>
#include <thread>

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
                                                        InferenceSetup{.batch = batch});
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
  PipelineOptions options_;
  Resize resize_ = Resize::antialiased;
  Dataset dataset_;
};

TEST_F(DetectInTiles, FindsWhatItFindsInFilesOfTheTiles) {
  const auto inference = network(1);
  for (const bool class_agnostic : {false, true}) {
    options_.nms.class_agnostic = class_agnostic;
    PipelineOptions plain = options_;
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
      expect_same(found[i],
                  merge_tiles(all, options_.tiles, options_.nms.max_detections, options_.nms.class_agnostic));
    }
  }
  options_.nms.max_detections = 3;
  for (const auto& boxes : detected(run_.folder() / "data/images/train", 3)) EXPECT_LE(boxes.size(), 3u);
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
  InferenceNetwork inference(load_trained_model(weights_), *backend_, {.batch = 4, .with_loss = true});
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

// A record of each tile has the objects that the tile shows, and its loss.
TEST_F(DetectInTiles, APicturesLossIsTheSumOfItsTiles) {
  InferenceNetwork inference(load_trained_model(weights_), *backend_, {.with_loss = true});
  const auto losses_of = [&](const Dataset& images, const PipelineOptions& how) {
    std::vector<YoloLoss> losses;
    detect_images(
        inference.engine(), images, inference.fit(), how, {},
        [](int, std::span<const ScoredBox>) { return true; }, &losses);
    return losses;
  };
  options_.tiles.min_visible = 0.6f;  // so that objects at an edge are left out
  const Dataset records = cut_into_tiles(dataset_, options_.tiles);
  PipelineOptions plain = options_;
  plain.tiles = {};
  const auto of_pictures = losses_of(dataset_, options_), of_tiles = losses_of(records, plain);
  ASSERT_EQ(of_tiles.size(), 10 * of_pictures.size());
  for (size_t i = 0; i < of_pictures.size(); ++i) {
    YoloLoss sum;
    for (size_t tile = 0; tile < 10; ++tile) sum += of_tiles[10 * i + tile];
    EXPECT_NEAR(of_pictures[i].box, sum.box, 1e-4f * sum.box) << i;
    EXPECT_NEAR(of_pictures[i].objectness, sum.objectness, 1e-4f * sum.objectness) << i;
    EXPECT_EQ(of_pictures[i].assigned, sum.assigned) << i;
  }
}

// Two ranks in two threads, each with a network of its own.
TEST_F(DetectInTiles, TwoRanksHaveTheMetricsOfOneAndNoneWhereOneStops) {
  dataset_.images.pop_back();  // three are left: the first rank has one more than the second
  const auto with_losses = [&] {
    return std::make_unique<InferenceNetwork>(load_trained_model(weights_), *backend_,
                                              InferenceSetup{.with_loss = true});
  };
  const auto alone = with_losses();
  const auto expected = evaluate(alone->engine(), dataset_, alone->fit(), options_);
  ASSERT_TRUE(expected && expected->loss);
  std::vector<std::string> sent(2);
  std::barrier meeting(2);
  const auto of_rank = [&](int rank, bool stops) {
    const auto own = with_losses();
    EvaluationRanks ranks{.part = {rank, 2}};
    ranks.all_gather = [&, rank](std::string_view bytes) {
      meeting.arrive_and_wait();  // both have copied what was sent before
      sent[static_cast<size_t>(rank)] = bytes;
      meeting.arrive_and_wait();
      return std::vector<std::string>(sent);
    };
    return evaluate(
        own->engine(), dataset_, own->fit(), options_,
        [stops](int, std::span<const ScoredBox>) { return !stops; }, ranks);
  };
  for (const bool stops : {false, true}) {
    std::optional<Metrics> found[2];
    std::thread other([&] { found[1] = of_rank(1, stops); });
    found[0] = of_rank(0, false);
    other.join();
    for (const auto& metrics : found) {
      ASSERT_EQ(metrics.has_value(), !stops);
      if (stops) continue;
      EXPECT_EQ(metrics->images, expected->images);
      EXPECT_EQ(metrics->detections, expected->detections);
      EXPECT_EQ(metrics->AP50, expected->AP50);
      EXPECT_EQ(metrics->confusion.counts, expected->confusion.counts);
      ASSERT_TRUE(metrics->loss);
      EXPECT_DOUBLE_EQ(metrics->loss->box, expected->loss->box);
      EXPECT_DOUBLE_EQ(metrics->loss->objectness, expected->loss->objectness);
    }
  }
}

}  // namespace
}  // namespace brightnet
