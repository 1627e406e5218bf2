// Options that cannot be meant are refused by the library itself, before anything is read or written.

#include <functional>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "brightnet/benchmark.h"
#include "brightnet/data.h"
#include "brightnet/dataset.h"
#include "brightnet/detect.h"
#include "brightnet/detector.h"
#include "brightnet/error.h"
#include "brightnet/export.h"
#include "brightnet/frames.h"
#include "brightnet/memory.h"
#include "brightnet/quantize.h"
#include "brightnet/train.h"
#include "brightnet/tune.h"
#include "tests/detect/clip.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// What the InputError says; "accepted" without one.
std::string words_of_refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

class OptionsOutOfRange : public ::testing::Test {
 protected:
  std::string data() const { return (run_.folder() / "data").string(); }
  DetectionOptions detection() const {
    return {.weights = {.weights = weights_},
            .source = (run_.folder() / "data/images/val").string(),
            .device = "cpu",
            .json = (run_.folder() / "found.json").string()};
  }
  /// Expects a refusal that says these words, and nothing written.
  void refused(const char* words, const std::function<void(DetectionOptions&)>& change) const {
    DetectionOptions options = detection();
    change(options);
    const std::string said = words_of_refusal([&] { detect_files(options); });
    EXPECT_NE(said.find(words), std::string::npos) << words << " is not in: " << said;
    EXPECT_FALSE(fs::exists(options.json)) << words;
  }

  SmallRun run_;
  fs::path weights_ = write_small_weights(run_);
};

TEST_F(OptionsOutOfRange, NothingIsDetectedWithThem) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  using Options = DetectionOptions;
  refused("confidence is 40", [](Options& o) { o.confidence = 40; });
  refused("confidence is -1", [](Options& o) { o.confidence = -1; });
  refused("confidence is nan", [=](Options& o) { o.confidence = nan; });
  refused("nms is 45", [](Options& o) { o.nms = 45; });
  refused("nms is -1", [](Options& o) { o.nms = -1; });
  refused("nms is nan", [=](Options& o) { o.nms = nan; });
  refused("max_objects is -3 and must be at least 0", [](Options& o) { o.max_objects = -3; });
  refused("batch is -3", [](Options& o) { o.batch = -3; });
  refused("workers is -3", [](Options& o) { o.workers = -3; });
  refused("frames is -3", [](Options& o) { o.frames = -3; });
  refused("every is 0 and must be at least 1", [](Options& o) { o.every = 0; });
  refused("max_pixels is 0", [](Options& o) { o.max_pixels = 0; });
  refused("height is 96 and width is 0", [](Options& o) { o.height = 96; });
  refused("height is 0 and width is 96", [](Options& o) { o.width = 96; });
  refused("height is -96", [](Options& o) { o.height = o.width = -96; });
  refused("width is 8224", [](Options& o) { o.height = 32, o.width = 8224; });
  refused("resize", [](Options& o) { o.resize = "bicubic"; });
  for (const char* word : {"On", "maybe"}) refused("letterbox is '", [=](Options& o) { o.letterbox = word; });
  refused("a letterbox", [](Options& o) { o.rect = true, o.letterbox = "off"; });
  refused("tiles are all of one shape", [](Options& o) { o.rect = true, o.tiles = "32,0.2"; });
  refused("line_width is -3", [](Options& o) {
    o.line_width = -3;
    o.save_crops = true;
  });
  EXPECT_TRUE(detect_files(detection()));
}

TEST_F(OptionsOutOfRange, AVideoIsNotReadByEveryNoFrame) {
  write_clip(run_.folder() / "clip.avi", 7);
  for (const int every : {-2, 0}) {
    refused("every is ", [&](DetectionOptions& options) {
      options.source = (run_.folder() / "clip.avi").string();
      options.every = every;
    });
  }
}

TEST_F(OptionsOutOfRange, ADetectorAndFramesNameTheOption) {
  const Weights weights = Weights::open(weights_);
  const auto of_detector = [&](const DetectorOptions& options) {
    return words_of_refusal([&] { Detector(weights, options); });
  };
  EXPECT_EQ(of_detector({.confidence = 40}), "DetectorOptions: confidence is 40 and must be from 0 to 1.");
  EXPECT_EQ(of_detector({.nms = 45}), "DetectorOptions: nms is 45 and must be from 0 to 1.");
  EXPECT_EQ(of_detector({.batch = 0}), "DetectorOptions: batch is 0 and must be at least 1.");
  const auto of_frames = [&](const FrameOptions& options) {
    return words_of_refusal([&] { Frames(weights, detection().source, options); });
  };
  EXPECT_EQ(of_frames({.every = 0}), "FrameOptions: every is 0 and must be at least 1.");
  EXPECT_EQ(of_frames({.max_pixels = 0}), "FrameOptions: max_pixels is 0 and must be at least 1.");
}

TEST_F(OptionsOutOfRange, NoSamplesAreDrawn) {
  for (const int count : {0, 10001, -4}) {
    const fs::path folder = run_.folder() / "show";
    const std::string said =
        words_of_refusal([&] { draw_samples({.data = data()}, {.folder = folder, .count = count}); });
    EXPECT_FALSE(fs::exists(folder)) << count;
    // Without this a negative number has no end.
    ASSERT_NE(said.find("must be from 1 to 10000"), std::string::npos) << said;
  }
}

TEST_F(OptionsOutOfRange, NoAnchorsAreFittedAndNoMemoryIsPlanned) {
  const auto anchors = [&](int count, int height, int width) {
    return words_of_refusal([&] { fit_anchors({.data = data()}, count, height, width); });
  };
  EXPECT_EQ(anchors(-5, 0, 0), "fit_anchors(): count is -5 and must be at least 0.");
  EXPECT_NE(anchors(3, 64, 0).find("height is 64 and width is 0"), std::string::npos) << anchors(3, 64, 0);
  EXPECT_NE(anchors(3, 0, 64).find("height is 0 and width is 64"), std::string::npos) << anchors(3, 0, 64);
  const auto memory = [&](MemoryOptions options) {
    options.run.config = (run_.folder() / "model.yaml").string();
    options.device = "cpu";
    return words_of_refusal([&] { plan_memory(options); });
  };
  EXPECT_EQ(memory({.batch = -1}), "MemoryOptions: batch is -1 and must be at least 0.");
  EXPECT_EQ(memory({.classes = -4}), "MemoryOptions: classes is -4 and must be at least 0.");
  EXPECT_NE(memory({.width = 64}).find("height is 0 and width is 64"), std::string::npos);
}

TEST_F(OptionsOutOfRange, NothingIsMeasuredWithThem) {
  const auto of_all = [&](const BenchmarkOptions& changed, const std::string& words) {
    for (const auto measure :
         {benchmark_step, benchmark_inference, benchmark_kernels, benchmark_loader, count_step}) {
      BenchmarkOptions options = changed;
      options.model = (run_.folder() / "model.yaml").string();
      options.data = data();
      options.device = "cpu";
      const std::string said = words_of_refusal([&] { measure(options); });
      EXPECT_EQ(said.rfind("BenchmarkOptions: " + words, 0), 0u) << said;
    }
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  of_all({.batch = -1}, "batch is -1 and must be at least 0.");
  of_all({.height = 96}, "height is 96 and width is 0");
  of_all({.height = -96, .width = -96}, "height is -96 and must be from 0");
  of_all({.classes = -3}, "classes is -3 and must be at least 0.");
  of_all({.workers = -2}, "workers is -2 and must be at least 0.");
  for (const double seconds : {-1.0, 0.0, nan})
    of_all({.seconds = seconds}, fmt::format("seconds is {} and must be above 0.", seconds));
}

TEST_F(OptionsOutOfRange, NothingIsSearchedWithThem) {
  const TuneOptions run{
      .run = {.config = run_.config().string()}, .device = "cpu", .folder = run_.folder() / "found"};
  const auto search = [&](const SearchOptions& options, const std::string& words) {
    EXPECT_EQ(words_of_refusal([&] { search_values(run, options); }), "SearchOptions: " + words);
  };
  search({.trials = -1}, "trials is -1 and must be at least 0.");
  search({.minutes = -1}, "minutes is -1 and must be at least 0.");
  search({.minutes = std::numeric_limits<double>::quiet_NaN()}, "minutes is nan and must be at least 0.");
  search({.epochs = -1}, "epochs is -1 and must be at least 0.");
  search({.jobs = 0}, "jobs is 0 and must be at least 1.");
  for (const int steps : {-1, 0, 19, 10001}) {
    EXPECT_EQ(words_of_refusal([&] { find_rate(run, steps); }),
              fmt::format("find_rate(): steps is {} and must be from 20 to 10000.", steps));
  }
  EXPECT_FALSE(fs::exists(run.folder));
}

TEST_F(OptionsOutOfRange, NothingIsWrittenWithThem) {
  const fs::path folder = run_.folder() / "written";
  EXPECT_EQ(words_of_refusal([&] { shard_data({.data = data()}, folder, 0); }),
            "shard_data(): bytes is 0 and must be at least 1.");
  const Weights weights = Weights::open(weights_);
  EXPECT_EQ(words_of_refusal([&] {
              quantize(weights, {.data = data(), .max_loss = std::numeric_limits<double>::quiet_NaN()});
            }),
            "QuantizationOptions: max_loss is nan and must be a number.");
  EXPECT_EQ(words_of_refusal([&] { export_darknet(weights, folder, ""); }),
            "export_darknet(): the name of the files is empty.");
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(OptionsOutOfRange, PixelsAreKeptOfABatchThatIsThere) {
  TrainingBatches batches({.data = data(), .batch = 4, .height = 32, .width = 32});
  const auto kept = [&] { return words_of_refusal([&] { batches.keep_pixels(); }); };
  const std::string refusal = "TrainingBatches::keep_pixels(): there is no batch";
  EXPECT_EQ(kept().rfind(refusal, 0), 0u) << kept();
  while (batches.next()) {
    EXPECT_EQ(kept(), "accepted");
    EXPECT_EQ(kept().rfind(refusal, 0), 0u) << "twice";
  }
  EXPECT_EQ(kept().rfind(refusal, 0), 0u) << "after the last";
}

TEST_F(OptionsOutOfRange, ANewRunHasNoFolderOfARunThatIsResumed) {
  TrainingOptions options{.run = {.config = run_.config().string()}, .out = run_.folder() / "x"};
  const std::string said = words_of_refusal([&] { check_training(options, 1); });
  EXPECT_NE(said.find("TrainingOptions::folder"), std::string::npos) << said;
  options.folder = run_.folder() / "x";
  options.out.clear();
  EXPECT_NO_THROW(check_training(options, 1));
}

}  // namespace
}  // namespace brightnet::testing
