// What detect_files() leaves of what an earlier call wrote.
#include "brightnet/detect.h"

#include <gtest/gtest.h>

#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

// docs/detect.md: after a run that was not interrupted.
TEST(DetectFiles, RemovesEarlierCropsUnlessItIsStopped) {
  const SmallRun run;
  const Logged quiet;
  const fs::path out = run.folder() / "found";
  DetectionOptions options{.weights = {.weights = write_small_weights(run)},
                           .source = (run.folder() / "data/images/val").string(),
                           .device = "cpu",
                           .batch = 1,
                           .confidence = 0.1f,
                           .max_objects = 3,
                           .out = out,
                           .save_crops = true};
  const auto crops = [&] {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(out / "crops"))
      count += entry.path().extension() == ".jpg";
    return count;
  };
  EXPECT_TRUE(detect_files(options));
  ASSERT_EQ(crops(), 12) << "three of each of four images";
  options.max_objects = 1;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(detect_files(options, [&] { return stop.get_token(); }));
  EXPECT_EQ(crops(), 12);
  EXPECT_TRUE(detect_files(options));
  EXPECT_EQ(crops(), 4);
}

}  // namespace
}  // namespace brightnet::testing
