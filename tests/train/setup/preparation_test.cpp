#include "train/setup/preparation.h"

#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

RunRequest request_of(const SmallRun& run) {
  RunRequest request;
  request.config = run.config().string();
  return request;
}

Preparation prepared(const RunRequest& request) {
  Communicator& alone = Communicator::solo();
  return prepare(request, common_device(alone, [] { return "cpu"; }), alone);
}

std::string said_about(const SmallRun& run) {
  ::testing::internal::CaptureStderr();
  prepared(request_of(run));
  return ::testing::internal::GetCapturedStderr();
}

TEST(Preparation, WarnsOfAValidationSplitOfFewImages) {
  const char* warning = "by which the best weights are chosen";
  const std::string few = said_about(SmallRun(12, 9));
  EXPECT_NE(few.find("The validation split has 9 images"), std::string::npos) << few;
  EXPECT_NE(few.find(warning), std::string::npos) << few;
  const std::string enough = said_about(SmallRun(12, 10));
  EXPECT_EQ(enough.find(warning), std::string::npos) << enough;
}

TEST(Preparation, OfARunWhoseLayersKeptValuesOfTheirOwnKeepsThem) {
  // As an earlier version wrote it: the run was trained with 1.2, whatever its `head:` says.
  const SmallRun run;
  const RunFolder folder = RunFolder::create(run.folder() / "runs/old");
  std::string model = small_model;
  model.replace(model.find("mask: [0, 1]"), 12, "mask: [0, 1], scale_xy: 1.2");
  model.replace(model.find("scale_xy: 1.05"), 14, "scale_xy: 2");
  write_atomically(folder.model(), model);
  write_atomically(folder.config(),
                   "model: model.yaml\nhead: {scale_xy: 2}\ndata: {format: yolo, root: " +
                       (run.folder() / "data").string() +
                       ", train: images/train, val: images/val, classes: [circle, square]}\n");
  write_atomically(folder.state(), std::string());
  RunRequest request;
  request.resuming = true;
  request.resume = folder.path().string();
  const Preparation resumed = prepared(request);
  std::vector<float> scales;
  for (const YoloAttributes* yolo : yolo_heads(resumed.model)) scales.push_back(yolo->head.scale_xy);
  EXPECT_EQ(scales, (std::vector<float>{1.2f, 2}));
}

}  // namespace
}  // namespace brightnet::testing
