#include "detect/detect.h"

#include <gtest/gtest.h>

#include "detect/objects.h"
#include "detect/sources/source.h"
#include "tests/detect/clip.h"
#include "tests/train/small_weights.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using testing::SmallRun;

class Detect : public ::testing::Test {
 protected:
  std::vector<FoundObjects> run(const std::string& source, int batch, PipelineOptions options = {}) {
    options.nms.score = 0.1f;
    InferenceNetwork inference(load_trained_model(weights_), *backend_, {.batch = batch});
    const auto opened = open_source((run_.folder() / source).string());
    std::vector<FoundObjects> all;
    report_ = detect(inference, *opened, options, [&](const FoundObjects& found) {
      all.push_back(found);
      return std::ssize(all) != stop_after_;
    });
    return all;
  }

  SmallRun run_{5, 1};
  fs::path weights_ = testing::write_small_weights(run_);
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  DetectReport report_;
  std::ptrdiff_t stop_after_ = -1;
};

TEST_F(Detect, FindsTheSameInAnyBatchWithAnyNumberOfThreads) {
  const auto one_by_one = run("data/images/train", 1);
  ASSERT_EQ(one_by_one.size(), 5u);
  std::ptrdiff_t objects = 0;
  for (const FoundObjects& of_image : one_by_one) objects += std::ssize(of_image.boxes);
  EXPECT_GT(objects, std::ssize(one_by_one.back().boxes));
  EXPECT_EQ(report_.objects, objects) << "of all images";
  for (const int batch : {2, 5, 8}) {  // 2: the last batch is not full; 8: none is
    for (const int workers : {0, 1, 3}) {
      const auto found = run("data/images/train", batch, {.workers = workers});
      ASSERT_EQ(found.size(), one_by_one.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].frame.file, one_by_one[i].frame.file);
        ASSERT_EQ(found[i].boxes.size(), one_by_one[i].boxes.size());
        for (size_t k = 0; k < found[i].boxes.size(); ++k) {
          const ScoredBox &box = found[i].boxes[k], &alone = one_by_one[i].boxes[k];
          EXPECT_NEAR(box.x1, alone.x1, 1e-3);
          EXPECT_NEAR(box.y1, alone.y1, 1e-3);
          EXPECT_NEAR(box.x2, alone.x2, 1e-3);
          EXPECT_NEAR(box.y2, alone.y2, 1e-3);
          EXPECT_EQ(box.class_id, alone.class_id);
          EXPECT_NEAR(box.score, alone.score, 1e-5);
        }
      }
    }
  }
}

TEST_F(Detect, AVideosFramesComeInOrder) {
  testing::write_clip(run_.folder() / "clip.avi", 11);
  const auto found = run("clip.avi", 4, {.workers = 3});
  ASSERT_EQ(found.size(), 11u);
  for (int i = 0; i < 11; ++i) {
    const Frame& frame = found[static_cast<size_t>(i)].frame;
    EXPECT_EQ(frame.number, i);
    EXPECT_NEAR(frame.image.at<cv::Vec3b>(2, 2)[0], testing::clip_red(i), 6);  // RGB by now
  }
}

TEST_F(Detect, AVideoThatEndsEarlyGivesTheFramesItHas) {
  const fs::path clip = run_.folder() / "clip.avi";
  testing::write_clip(clip, 40);
  fs::resize_file(clip, fs::file_size(clip) / 2);
  for (const TileOptions& tiles : {TileOptions{}, TileOptions{.size = 40}}) {
    const auto found = run("clip.avi", 4, {.workers = 2, .tiles = tiles});
    EXPECT_GT(found.size(), 5u);
    EXPECT_LT(found.size(), 35u);
    EXPECT_EQ(report_.images, std::ssize(found));
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].frame.number, static_cast<int64_t>(i));
  }
}

TEST_F(Detect, SkipsAndNamesWhatDoesNotDecode) {
  const auto all = run("data/images/train", 3);
  const auto all_in_tiles = run("data/images/train", 3, {.tiles = {.size = 40}});
  const fs::path folder = run_.folder() / "data/images/train";
  write_atomically(folder / "a_broken.jpg", std::string("no image"));
  write_atomically(folder / "b_empty.png", std::string());
  write_atomically(folder / "zz.mp4", std::string("no video"));
  for (const TileOptions& tiles : {TileOptions{}, TileOptions{.size = 40}}) {
    for (const int workers : {0, 2}) {
      const auto found = run("data/images/train", 3, {.workers = workers, .tiles = tiles});
      const auto& expected = tiles ? all_in_tiles : all;
      EXPECT_EQ(report_.images, 5);
      ASSERT_EQ(found.size(), 5u);
      for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(found[i].frame.file, expected[i].frame.file);
        EXPECT_EQ(found[i].boxes.size(), expected[i].boxes.size());
      }
      ASSERT_EQ(report_.skipped.size(), 3u);
      EXPECT_EQ(fs::path(report_.skipped[0].file).filename(), "a_broken.jpg");
      EXPECT_FALSE(report_.skipped[1].reason.empty());
      EXPECT_EQ(report_.skipped[2].reason, "this video cannot be opened");
    }
  }
}

TEST_F(Detect, WhatDoesNotDecodeKeepsItsPlace) {
  const auto all = run("data/images/train", 3);
  ASSERT_EQ(all.size(), 5u);
  write_atomically(all[2].frame.file, std::string("no image"));
  for (const TileOptions& tiles : {TileOptions{}, TileOptions{.size = 40}}) {
    for (const int workers : {0, 2}) {
      std::vector<int64_t> places;
      for (const auto& found : run("data/images/train", 3, {.workers = workers, .tiles = tiles}))
        places.push_back(found.frame.place);
      EXPECT_EQ(places, (std::vector<int64_t>{1, 2, 4, 5}));
    }
  }
}

TEST_F(Detect, EndsWhenTheSinkHasEnough) {
  stop_after_ = 3;
  for (const TileOptions& tiles : {TileOptions{}, TileOptions{.size = 40}}) {
    EXPECT_EQ(run("data/images/train", 2, {.tiles = tiles}).size(), 3u);
    EXPECT_EQ(report_.images, 3);
  }
}

TEST_F(Detect, SaysHowLongEachStageTook) {
  double seconds = 0;  // of the frames
  for (const FoundObjects& found : run("data/images/train", 2)) seconds += found.seconds;
  const StageTimes& times = report_.times;
  EXPECT_GE(seconds, 0.999 * times.network);
  EXPECT_LE(seconds, 1.001 * (times.network + times.nms));
  for (const double stage : {times.decode, times.prepare, times.network, times.nms, times.output}) {
    EXPECT_GT(stage, 0);
    EXPECT_LT(stage, times.clock);
  }
}

TEST(StageTimes, AreWrittenForOneImage) {
  const StageTimes times{
      .decode = 0.02, .prepare = 0.01, .network = 0.05, .nms = 0.004, .output = 0.006, .clock = 0.1};
  EXPECT_EQ(times.text(10, 1),
            "100.0 images/s; ms an image: decode 2.00, prepare 1.00, network 5.00, NMS 0.40, output 0.60 "
            "(1 thread decodes and prepares)");
  EXPECT_NE(times.text(10, 2).find("(2 threads decode and prepare)"), std::string::npos);
}

TEST_F(Detect, HandsOverTheBoxesBeforeTheyAreCutToo) {
  bool beyond = false;
  for (const TileOptions& tiles : {TileOptions{}, TileOptions{.size = 40}}) {
    for (const FoundObjects& found : run("data/images/train", 2, {.tiles = tiles})) {
      const cv::Size size = found.frame.image.size();
      for (const ScoredBox& box : found.uncut) {
        const bool leaves = box.x1 < 0 || box.y1 < 0 || box.x2 > static_cast<float>(size.width) ||
                            box.y2 > static_cast<float>(size.height);
        EXPECT_FALSE(leaves && tiles) << "tiles are merged from boxes that are cut";
        beyond = beyond || leaves;
      }
      const auto cut = cut_at_border(found.uncut, size.width, size.height);
      ASSERT_EQ(found.boxes.size(), cut.size());
      for (size_t i = 0; i < cut.size(); ++i) {
        EXPECT_EQ(found.boxes[i].x1, cut[i].x1);
        EXPECT_EQ(found.boxes[i].y2, cut[i].y2);
        EXPECT_EQ(found.boxes[i].score, cut[i].score);
      }
    }
  }
  EXPECT_TRUE(beyond) << "nothing was to be cut";
}

TEST_F(Detect, FindsTheSameInAStreamAsInAVideo) {
  testing::write_clip(run_.folder() / "clip.avi", 5);
  for (const TileOptions& tiles : {TileOptions{}, TileOptions{.size = 40}}) {
    const auto video = run("clip.avi", 4, {.workers = 2, .tiles = tiles});
    InferenceNetwork inference(load_trained_model(weights_), *backend_, {.batch = 4});
    const auto stream = open_source("file://" + fs::absolute(run_.folder() / "clip.avi").string());
    ASSERT_TRUE(stream->live());
    size_t frames = 0;
    detect(inference, *stream, {.nms = {.score = 0.1f}, .workers = 2, .tiles = tiles},
           [&](const FoundObjects& found) {
             EXPECT_EQ(found.boxes.size(), video.at(frames).boxes.size());
             EXPECT_EQ(found.frame.number, static_cast<int64_t>(frames++));
             return true;
           });
    EXPECT_EQ(frames, 5u);
  }
}

TEST_F(Detect, LooksForTheClassesAskedForAndKeepsTheBest) {
  PipelineOptions options;
  options.nms.max_detections = 100'000;  // a class must not be crowded out by another
  const auto all = run("data/images/train", 5, options);
  options.classes = {false, true};
  const auto squares = run("data/images/train", 5, options);
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<float> expected;
    for (const auto& box : all[i].boxes) {
      if (box.class_id == 1) expected.push_back(box.score);
    }
    ASSERT_EQ(squares[i].boxes.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      EXPECT_EQ(squares[i].boxes[k].class_id, 1);
      EXPECT_NEAR(squares[i].boxes[k].score, expected[k], 1e-6);
    }
  }
  PipelineOptions few;
  few.nms.max_detections = 2;
  const auto best = run("data/images/train", 5, few);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(best[i].boxes.size(), std::min<size_t>(2, all[i].boxes.size()));
    if (!best[i].boxes.empty()) {
      EXPECT_NEAR(best[i].boxes[0].score, all[i].boxes[0].score, 1e-6);
    }
  }
}

TEST(ClassFilter, TakesNamesAndNumbersAndNamesTheNearest) {
  const std::vector<std::string> names{"person", "traffic light", "7"};
  EXPECT_TRUE(parse_class_filter({}, names).empty());
  EXPECT_EQ(parse_class_filter({"traffic light", "0"}, names), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(parse_class_filter({"7"}, names), (std::vector<bool>{false, false, true}));  // a name comes first
  EXPECT_EQ(parse_class_filter({"dog"}, {"dog", "dog", "cat"}), (std::vector<bool>{true, true, false}));
  const auto refusal = [&](const std::string& word) {
    try {
      parse_class_filter({word}, names);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal("persn").find("'person'"), std::string::npos);
  EXPECT_NE(refusal("elephants").find("traffic light"), std::string::npos);
  EXPECT_NE(refusal("3").find("no class 3"), std::string::npos);
  EXPECT_NE(refusal("-1").find("--classes"), std::string::npos);
}

}  // namespace
}  // namespace brightnet
