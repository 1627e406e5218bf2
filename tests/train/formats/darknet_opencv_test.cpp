// The exported .cfg and .weights run by somebody else: OpenCV's DNN module must find what `detect` finds.
#include <fmt/format.h>
#include <opencv2/dnn.hpp>

#include "tests/train/formats/realistic_model.h"
#include "train/formats/darknet_export.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// What OpenCV finds in the model's own picture: a row of centre, size, objectness and scores for each box.
std::vector<Detection> candidates_of_opencv(const RealisticModel& made, float least) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(::testing::TempDir()) / (std::string("darknet_opencv_") + test->name());
  fs::create_directories(folder);
  const DarknetFiles files = export_darknet(folder, "model", made.trained, made.layout, made.values);
  cv::dnn::Net net = cv::dnn::readNetFromDarknet(files.cfg.string(), files.weights.string());
  fs::remove_all(folder);
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setInput(cv::dnn::blobFromImage(made.image, 1.0 / 255));  // the picture is RGB already
  std::vector<cv::Mat> heads;
  net.forward(heads, net.getUnconnectedOutLayersNames());
  std::vector<Detection> found;
  for (const cv::Mat& head : heads) {
    for (int i = 0; i < head.rows; ++i) {
      const float* row = head.ptr<float>(i);
      for (int c = 0; c < head.cols - 5; ++c) {
        if (row[5 + c] > least) found.push_back({{row[0], row[1], row[2], row[3]}, c, row[5 + c]});
      }
    }
  }
  return found;
}

void expect_opencv_detects_the_same(Model model, int size, float score) {
  const RealisticModel made = realistic_model(std::move(model), size);
  const float least = score - 1e-3f;
  const NmsOptions nms{.kind = "greedy", .iou = 0.45f, .score = least, .max_detections = 1'000'000};
  const auto candidates = candidates_of(made, least);
  const auto ours = non_max_suppression(candidates, nms);
  const auto theirs = candidates_of_opencv(made, least);
  expect_same_detections(ours, non_max_suppression(theirs, nms), score);
  // The comparison is worth something when there is much to compare, of different scores.
  ASSERT_GT(ours.size(), 20u);
  EXPECT_GT(candidates.size(), ours.size()) << "nothing was suppressed";
  EXPECT_GT(ours.front().score - ours.back().score, 0.2f);
}

/// yolov4-tiny with the heads of Scaled-YOLOv4.
Model new_coords_model() {
  YamlDocument document = YamlDocument::load(source_dir() / "configs/models/yolov4-tiny.yaml");
  document.set("head.new_coords=true");
  document.set("head.scale_xy=2.0");
  return parse_model(document, 20);
}

// Disabled: OpenCV 4.6 agrees to 3e-4 in the scores and 0.998 in IoU and not to the 0.999 asked for. It adds
// another epsilon to the variances than darknet does, which shows where the made-up statistics are small; the
// fixture needs statistics like those of trained networks first.
TEST(DarknetInOpenCv, DISABLED_YoloV4TinyDetectsTheSame) {
  expect_opencv_detects_the_same(shipped_model("yolov4-tiny", 20), 256, 0.3f);
}

TEST(DarknetInOpenCv, DISABLED_YoloV4DetectsTheSame) {
  expect_opencv_detects_the_same(shipped_model("yolov4", 80), 128, 0.3f);
}

TEST(DarknetInOpenCv, DISABLED_NewCoordinatesDetectTheSame) {
  expect_opencv_detects_the_same(new_coords_model(), 256, 0.3f);
}

TEST(SlowDarknetInOpenCv, DISABLED_YoloV4OfFullSizeDetectsTheSame) {
  expect_opencv_detects_the_same(shipped_model("yolov4", 80), 608, 0.3f);
}

}  // namespace
}  // namespace brightnet::testing
