#include "detect/pipeline.h"

#include <array>
#include <cmath>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "data/formats/read.h"
#include "data/image/read_image.h"
#include "detect/evaluate/evaluate.h"
#include "detect/inference.h"
#include "detect/onnx_engine.h"
#include "detect/sources/memory_source.h"
#include "detect/sources/source.h"
#include "formats/onnx/export.h"
#include "tests/data/pictures.h"
#include "tests/train/small_weights.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using testing::SmallRun;

using Boxes = std::vector<std::vector<ScoredBox>>;

bool same(const Boxes& a, const Boxes& b) {
  const auto same_box = [](const ScoredBox& x, const ScoredBox& y) {
    return std::memcmp(&x, &y, sizeof x) == 0;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_box);
  });
}

PixelImage view_of(const cv::Mat& image, bool bgr = false) {
  return {image.data, image.rows, image.cols, image.step, image.channels(), bgr};
}

class PipelineTest : public ::testing::Test {
 protected:
  PipelineTest() {
    fs::create_directories(folder_);
    for (int i = 0; i < 3; ++i) {
      pictures_.push_back(picture(static_cast<uint64_t>(i), 150 + 20 * i, 130));
      cv::Mat bgr;
      cv::cvtColor(pictures_.back(), bgr, cv::COLOR_RGB2BGR);
      cv::imwrite((folder_ / (std::to_string(i) + ".png")).string(), bgr);
    }
  }

  std::unique_ptr<InferenceNetwork> network(int batch = 2) {
    return std::make_unique<InferenceNetwork>(load_trained_model(weights_), *backend_,
                                              InferenceSetup{.batch = batch});
  }

  Boxes found_in(FrameSource& source, InferenceNetwork& inference) {
    Boxes all;
    Pipeline pipeline(inference.engine(), inference.fit(), options_);
    EXPECT_TRUE(pipeline.run(source, [&](FoundObjects& found) {
      all.push_back(std::move(found.boxes));
      return true;
    }));
    return all;
  }

  Boxes found_in_files() { return found_in(*open_source(folder_.string()), *network()); }

  SmallRun run_{1, 1};
  fs::path folder_ = run_.folder() / "pictures";
  fs::path weights_ = testing::write_small_weights(run_);
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  PipelineOptions options_{.nms = {.score = 0.1f}};
  std::vector<cv::Mat> pictures_;
};

TEST_F(PipelineTest, FindsInMemoryWhatItFindsInFiles) {
  const auto inference = network();
  for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
    inference->set_resize(resize);
    for (const int tile : {0, 64}) {
      options_.tiles.size = tile;
      const auto files = open_source(folder_.string());
      const Boxes expected = found_in(*files, *inference);
      ASSERT_EQ(expected.size(), 3u);
      for (const auto& boxes : expected) EXPECT_FALSE(boxes.empty());
      std::vector<PixelImage> rgb, bgr;
      std::vector<cv::Mat> swapped(3);
      for (size_t i = 0; i < 3; ++i) {
        rgb.push_back(view_of(pictures_[i]));
        cv::cvtColor(pictures_[i], swapped[i], cv::COLOR_RGB2BGR);
        bgr.push_back(view_of(swapped[i], true));
      }
      for (const int workers : {0, 2}) {
        options_.workers = workers;
        MemorySource source(rgb), swapped_source(bgr);
        EXPECT_TRUE(same(found_in(source, *inference), expected)) << tile;
        EXPECT_TRUE(same(found_in(swapped_source, *inference), expected)) << tile;
      }
    }
  }
}

// A batch's time is that of all of its images together.
TEST_F(PipelineTest, ItsImagesHaveTheirShareOfTheTime) {
  const auto inference = network();
  for (const int tile : {0, 64}) {
    options_.tiles.size = tile;
    const auto files = open_source(folder_.string());
    Pipeline pipeline(inference->engine(), inference->fit(), options_);
    std::vector<double> seconds;
    EXPECT_TRUE(pipeline.run(*files, [&](const FoundObjects& found) {
      seconds.push_back(found.seconds);
      return true;
    }));
    ASSERT_EQ(seconds.size(), 3u);
    double all = 0;
    for (const double of_image : seconds) {
      EXPECT_GT(of_image, 0);
      all += of_image;
    }
    EXPECT_LE(all, 1.0001 * (pipeline.times().network + pipeline.times().nms)) << tile;
    if (tile == 0) {
      EXPECT_EQ(seconds[0], seconds[1]) << "in the same batch";
    }
  }
}

TEST_F(PipelineTest, InTilesTheUncutBoxesAreThoseOfTheWholeImage) {
  const auto inference = network();
  options_.tiles.size = 64;
  Pipeline pipeline(inference->engine(), inference->fit(), options_);
  const auto files = open_source(folder_.string());
  EXPECT_TRUE(pipeline.run(*files, [&](const FoundObjects& found) {
    EXPECT_FALSE(found.boxes.empty());
    EXPECT_TRUE(same({found.uncut}, {found.boxes}));
    return true;
  }));
}

TEST_F(PipelineTest, AStopIsHeededAmongTheTilesOfAPicture) {
  const auto inference = network();
  options_.tiles.size = 32;
  Pipeline pipeline(inference->engine(), inference->fit(), options_);
  const PixelImage image = view_of(pictures_[0]);
  MemorySource source({&image, 1});
  std::stop_source stop;
  stop.request_stop();
  const auto sink = [](FoundObjects&) {
    ADD_FAILURE() << "only a batch of its tiles was looked at";
    return true;
  };
  EXPECT_FALSE(pipeline.run(source, sink, stop.get_token()));
}

TEST_F(PipelineTest, LooksAgainAndAgainWithoutRememberingAnything) {
  const auto inference = network();
  options_.tiles.size = 64;
  Pipeline pipeline(inference->engine(), inference->fit(), options_);
  const PixelImage image = view_of(pictures_[0]);
  Boxes all;
  for (int i = 0; i < 3; ++i) {
    MemorySource source({&image, 1});
    const bool goes_on = i == 1;
    EXPECT_EQ(pipeline.run(source,
                           [&](FoundObjects& found) {
                             all.push_back(found.boxes);
                             return goes_on;
                           }),
              goes_on);
  }
  ASSERT_EQ(all.size(), 3u);
  EXPECT_FALSE(all[0].empty());
  EXPECT_TRUE(same({all[0], all[0]}, {all[1], all[2]}));
}

TEST_F(PipelineTest, RunsInSeveralThreadsEachWithItsOwnNetwork) {
  const Boxes expected = found_in_files();
  std::vector<Boxes> found(3);
  std::vector<std::thread> threads;
  for (Boxes& of_thread : found) threads.emplace_back([&] { of_thread = found_in_files(); });
  for (std::thread& thread : threads) thread.join();
  for (const Boxes& of_thread : found) EXPECT_TRUE(same(of_thread, expected));
}

TEST_F(PipelineTest, ForgetsTheObjectsOfAnImageAtWhichTheSinkFailed) {
  const auto inference = network();
  options_.tiles.size = 64;
  Pipeline pipeline(inference->engine(), inference->fit(), options_);
  const PixelImage image = view_of(pictures_[0]);
  Boxes all;
  for (int i = 0; i < 3; ++i) {
    MemorySource source({&image, 1});
    const auto sink = [&](FoundObjects& found) {
      all.push_back(found.boxes);
      if (i == 1) throw InputError("the disk is full", "");
      return true;
    };
    if (i == 1) {
      EXPECT_THROW(pipeline.run(source, sink), InputError);
    } else {
      EXPECT_TRUE(pipeline.run(source, sink));
    }
  }
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(same({all[0]}, {all[2]}));
}

// The inputs are those of the network's size, so that training's resize and detection's are the same.
TEST_F(PipelineTest, FindsInADataSetWhatItFindsInItsFiles) {
  Dataset dataset;
  dataset.classes = {"circle", "square"};
  const fs::path folder = run_.folder() / "inputs";
  fs::create_directories(folder);
  for (int i = 0; i < 5; ++i) {
    dataset.images.push_back({folder / (std::to_string(i) + ".png"), i, 64, 64, {}});
    cv::imwrite(dataset.images.back().file.string(), picture(static_cast<uint64_t>(i), 64, 64));
  }
  const auto files = open_source(folder.string());
  const auto inference = network();
  const Boxes expected = found_in(*files, *inference);
  for (const bool rect : {false, true}) {
    if (rect) {
      inference->set_letterbox(true);
      options_.rect = true;
    }
    for (const int workers : {0, 3}) {
      options_.workers = workers;
      Boxes found;
      std::vector<int> indices;
      EXPECT_TRUE(detect_images(inference->engine(), dataset, inference->fit(), options_, {},
                                [&](int index, std::span<const ScoredBox> boxes) {
                                  indices.push_back(index);
                                  found.emplace_back(boxes.begin(), boxes.end());
                                  return true;
                                }));
      EXPECT_EQ(indices, (std::vector<int>{0, 1, 2, 3, 4}));
      EXPECT_TRUE(same(found, expected));
    }
  }
}

// What the network sees of a mirrored picture, it also sees of the picture in a pipeline that mirrors.
TEST_F(PipelineTest, FindsMirroredWhereItLiesInTheImage) {
  const auto inference = network(1);
  for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
    inference->set_resize(resize);
    cv::Mat flipped;
    cv::flip(pictures_[0], flipped, 1);
    const PixelImage image = view_of(flipped), mirrored = view_of(pictures_[0]);
    MemorySource plain_source({&image, 1}), mirrored_source({&mirrored, 1});
    options_.mirrored = false;
    const Boxes expected = found_in(plain_source, *inference);
    options_.mirrored = true;
    const Boxes found = found_in(mirrored_source, *inference);
    ASSERT_EQ(found[0].size(), expected[0].size());
    ASSERT_FALSE(found[0].empty());
    const auto width = static_cast<float>(flipped.cols);
    for (size_t i = 0; i < found[0].size(); ++i) {
      EXPECT_NEAR(found[0][i].x1, width - expected[0][i].x2, 0.5f);
      EXPECT_NEAR(found[0][i].x2, width - expected[0][i].x1, 0.5f);
      EXPECT_NEAR(found[0][i].y1, expected[0][i].y1, 0.5f);
      EXPECT_NEAR(found[0][i].score, expected[0][i].score, 1e-3f);
    }
  }
}

TEST_F(PipelineTest, AnEvaluationInViewsFindsWhatEachOfThemFinds) {
  Dataset dataset;
  dataset.classes = {"circle", "square"};
  for (int i = 0; i < 3; ++i)
    dataset.images.push_back({folder_ / (std::to_string(i) + ".png"), i, 150 + 20 * i, 130, {}});
  const auto inference = network();
  options_.nms.iou = 0.55f;  // above it boxes are one object's
  options_.nms.score = 0;
  options_.nms.max_detections = 100'000;
  const auto scores = [&](std::vector<InferenceView> views) {
    options_.views = std::move(views);
    std::vector<double> sums;
    std::vector<int> indices;
    EXPECT_TRUE(detect_images(inference->engine(), dataset, inference->fit(), options_, {},
                              [&](int index, std::span<const ScoredBox> boxes) {
                                indices.push_back(index);
                                sums.push_back(0);
                                for (const ScoredBox& box : boxes) sums.back() += box.score;
                                return true;
                              }));
    EXPECT_EQ(indices, (std::vector<int>{0, 1, 2}));
    return sums;
  };
  const InferenceView own{64}, mirrored{64, true}, small{32};
  const auto plain = scores({}), in_own = scores({own}), in_mirrored = scores({mirrored}),
             in_small = scores({small});
  const auto in_all = scores({own, mirrored, small});
  for (size_t i = 0; i < 3; ++i) {
    // Boxes that lie nearly on each other once they are cut to the image are one object's.
    EXPECT_NEAR(in_own[i], plain[i], 0.06 * plain[i]);
    EXPECT_GT(std::abs(in_small[i] - plain[i]), 0.1 * plain[i]);
    // A score is the mean over the views; a few boxes are suppressed when their mean lies on another one.
    const double all = in_own[i] + in_mirrored[i] + in_small[i];
    EXPECT_NEAR(3 * in_all[i], all, 0.15 * all);
  }
}

// More images than are on their way through the views at a time.
TEST_F(PipelineTest, AnEvaluationInViewsHasEveryImageWithItsOwnLoss) {
  constexpr int count = 66;
  Dataset dataset;
  dataset.classes = {"circle", "square"};
  for (int i = 0; i < count; ++i) {
    const float right = 30 + static_cast<float>(i);
    dataset.images.push_back({folder_ / (std::to_string(i % 3) + ".png"),
                              i,
                              150 + 20 * (i % 3),
                              130,
                              {{10, 10, right, 60, i % 2, false, false, (right - 10) * 50}}});
  }
  InferenceNetwork inference(load_trained_model(weights_), *backend_, {.batch = 2, .with_loss = true});
  const auto losses_in = [&](std::vector<InferenceView> views) {
    options_.views = std::move(views);
    std::vector<YoloLoss> losses;
    int next = 0;
    EXPECT_TRUE(detect_images(
        inference.engine(), dataset, inference.fit(), options_, {},
        [&](int index, std::span<const ScoredBox>) {
          EXPECT_EQ(index, next++);
          return true;
        },
        &losses));
    EXPECT_EQ(next, count);
    return losses;
  };
  const InferenceView own{64}, mirrored{64, true}, small{32};
  const auto expected = losses_in({}), found = losses_in({own, mirrored, small});
  ASSERT_EQ(expected.size(), static_cast<size_t>(count));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_GT(expected[i].box, 0) << i;
    EXPECT_NEAR(found[i].box, expected[i].box, 1e-4f * expected[i].box) << i;
    EXPECT_NEAR(found[i].objectness, expected[i].objectness, 1e-4f * expected[i].objectness) << i;
  }
}

TEST_F(PipelineTest, AnEvaluationEndsWithAnErrorWhereAnImageCannotBeRead) {
  Dataset dataset;
  dataset.images.push_back({folder_ / "0.png", 0, 150, 130, {}});
  dataset.images.push_back({folder_ / "gone.png", 1, 150, 130, {}});
  const auto inference = network(1);
  for (const int tile : {0, 64}) {
    options_.tiles.size = tile;
    int seen = 0;
    const auto sink = [&](int, std::span<const ScoredBox>) { return ++seen > 0; };
    EXPECT_THROW(detect_images(inference->engine(), dataset, inference->fit(), options_, {}, sink),
                 InputError);
    EXPECT_EQ(seen, 1);
  }
}

TEST_F(PipelineTest, AnExportedNetworkSuppressesAsItsWeightsDo) {
  const fs::path file = run_.folder() / "suppressing.onnx";
  for (const auto& [kind, method] :
       {std::pair(NmsKind::greedy, NmsMethod::greedy), {NmsKind::diou, NmsMethod::diou}}) {
    TrainedModel trained = load_trained_model(weights_);
    for (LayerDescription& layer : trained.model.layers) {
      auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
      if (!yolo) continue;
      yolo->nms = kind;
      yolo->nms_beta = 0.875f;
    }
    export_onnx(trained, {}, file);
    const NmsOptions nms = for_model({.kind = NmsMethod::model}, OnnxEngine(file).description().model);
    EXPECT_EQ(nms.kind, method);
    if (method == NmsMethod::diou) {
      EXPECT_EQ(nms.beta, 0.875f);
    }
  }
}

TEST_F(PipelineTest, AnExportedNetworkIsGivenImagesAsItsWeightsAre) {
  const fs::path file = run_.folder() / "fitting.onnx";
  for (const bool letterbox : {false, true}) {
    for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
      TrainedModel trained = load_trained_model(weights_);
      trained.letterbox = letterbox;
      trained.resize = resize;
      export_onnx(trained, {}, file);
      const InputFit fit = OnnxEngine(file).description().fit();
      EXPECT_EQ(fit.letterbox, letterbox);
      EXPECT_EQ(fit.resize, resize);
    }
  }
}

/// Sums over candidates, whatever their order.
std::array<double, 5> sums_of(const std::vector<Detection>& candidates) {
  std::array<double, 5> sums{};
  for (const auto& [box, class_id, score] : candidates) {
    const std::array<double, 5> values{1, box.x, box.y, box.w - 2 * box.h, 1.0 * class_id};
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += score * values[i];
  }
  return sums;
}

// Of two images at once, by both kinds of pixels.
TEST_F(PipelineTest, AnExportedNetworkComputesWhatTheWeightsDo) {
  const fs::path file = run_.folder() / "pair.onnx";
  export_onnx(load_trained_model(weights_), {.batch = 2}, file);
  OnnxEngine exported(file);
  ASSERT_EQ(exported.batch(), 2);
  const auto inference = network(2);
  const std::vector<PixelImage> images{view_of(pictures_[0]), view_of(pictures_[1])};
  for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
    inference->set_resize(resize);
    const InputFit fit = inference->fit();
    MemorySource source(images);
    InputLoader loader(source, {.batch = 2, .fit = fit, .workers = 0});
    const auto* batch = loader.next();
    ASSERT_NE(batch, nullptr);
    const auto ours = inference->engine().candidates(batch->input, fit, 0.01f),
               theirs = exported.candidates(batch->input, fit, 0.01f);
    ASSERT_EQ(theirs.size(), 2u);
    for (size_t image = 0; image < 2; ++image) {
      const auto expected = sums_of(ours[image]), found = sums_of(theirs[image]);
      EXPECT_GT(expected[0], 1);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-3 * expected[0]) << image << ' ' << i;
    }
    EXPECT_GT(std::abs(sums_of(ours[0])[0] - sums_of(ours[1])[0]), 0.0);
  }
}

}  // namespace
}  // namespace brightnet
