// The exported .cfg and .weights run by another program: OpenCV's DNN module must find what `detect` finds.
#include <opencv2/dnn.hpp>

#include "data/image/darknet_image.h"
#include "formats/darknet/export.h"
#include "formats/darknet/trained.h"
#include "layers/model/reader.h"
#include "tests/formats/realistic_model.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

// OpenCV's [yolo] gives no score below 0.2, so higher thresholds are compared.
constexpr float iou_limit = 0.45f;

/// OpenCV runs an export on a blob: a row of centre, size, objectness and scores for each box.
std::vector<Detection> candidates_of_opencv(const RealisticModel& made, DarknetNumbers numbers,
                                            const cv::Mat& blob, float least) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(::testing::TempDir()) / (std::string("darknet_opencv_") + test->name());
  fs::create_directories(folder);
  const DarknetFiles files = export_darknet(folder, "model", made.trained, numbers);
  cv::dnn::Net net = cv::dnn::readNetFromDarknet(files.cfg.string(), files.weights.string());
  fs::remove_all(folder);
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setInput(blob);
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

/// `made` with its picture through both: the same candidates, and the same left of them after suppression.
void expect_opencv_detects_the_same(const RealisticModel& made, float score) {
  const float least = score - 1e-3f;
  const NmsOptions nms{
      .kind = NmsMethod::greedy, .iou = iou_limit, .score = least, .max_detections = 1'000'000};
  auto candidates = candidates_of(made, least);
  const cv::Mat blob = cv::dnn::blobFromImage(made.image, 1.0 / 255);  // the picture is RGB already
  auto theirs = candidates_of_opencv(made, DarknetNumbers::scaled, blob, least);
  expect_same_detections(candidates, theirs, score);
  remove_near_ties(candidates, theirs, iou_limit);
  const auto ours = non_max_suppression(candidates, nms);
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

TEST(DarknetInOpenCv, YoloV4TinyDetectsTheSame) {
  expect_opencv_detects_the_same(realistic_model(shipped_model("yolov4-tiny", 20), 256), 0.3f);
}

TEST(DarknetInOpenCv, RectangularInputsDetectTheSame) {
  expect_opencv_detects_the_same(realistic_model(shipped_model("yolov4-tiny", 20), {192, 352}), 0.3f);
  expect_opencv_detects_the_same(realistic_model(new_coords_model(), {352, 192}), 0.3f);
}

TEST(DarknetInOpenCv, AGreyInputDetectsTheSame) {
  const auto file = source_dir() / "configs/models/yolov4-tiny.yaml";
  expect_opencv_detects_the_same(realistic_model(load_model(file, 20, {}, 1), {256, 224}), 0.3f);
}

TEST(DarknetInOpenCv, YoloV4DetectsTheSame) {
  expect_opencv_detects_the_same(realistic_model(shipped_model("yolov4", 20), 128), 0.6f);
}

TEST(DarknetInOpenCv, NewCoordinatesDetectTheSame) {
  expect_opencv_detects_the_same(realistic_model(new_coords_model(), 256), 0.3f);
}

// With few classes, or there would be more candidates than the best 8192 of a head that are handed on.
TEST(SlowDarknetInOpenCv, YoloV4OfFullSizeDetectsTheSame) {
  expect_opencv_detects_the_same(realistic_model(shipped_model("yolov4", 2), 608), 0.6f);
}

/// A copy whose variances are `less` smaller.
RealisticModel with_smaller_variances(const RealisticModel& made, float less) {
  RealisticModel other = made;
  for (const auto& entry : made.trained.layout.entries()) {
    if (entry.kind != ParameterKind::running_variance) continue;
    for (size_t i = 0; i < entry.count; ++i) other.trained.values[entry.offset + i] -= less;
  }
  return other;
}

// What `kept` numbers cost in OpenCV, and that nothing else differs: with its epsilon, ours computes
// the same.
TEST(DarknetInOpenCv, KeptNumbersDifferByOpenCvsEpsilonAlone) {
  const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 20), 256);
  const float score = 0.3f, least = score - 1e-3f;
  const cv::Mat blob = cv::dnn::blobFromImage(made.image, 1.0 / 255);
  const auto theirs = candidates_of_opencv(made, DarknetNumbers::kept, blob, least);
  const RealisticModel with_their_epsilon = with_smaller_variances(made, 1e-5f - 1e-6f);
  expect_same_detections(candidates_of(with_their_epsilon, least), theirs, score);
}

TEST(DarknetExport, ScaledNumbersAreTheSameNetwork) {
  const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 20), 160);
  const ParameterLayout& layout = made.trained.layout;
  RealisticModel scaled = made;
  scaled.trained.values = scaled_to_large_variances(layout, made.trained.values);
  for (const auto& entry : layout.entries()) {
    if (entry.kind != ParameterKind::running_variance) continue;
    for (size_t i = 0; i < entry.count; ++i) EXPECT_GE(scaled.trained.values[entry.offset + i], 0.9999f);
  }
  const auto expected = candidates_of(made, 0.299f);
  ASSERT_GT(expected.size(), 20u);
  expect_same_detections(expected, candidates_of(scaled, 0.299f), 0.3f);
  EXPECT_EQ(scaled_to_large_variances(layout, scaled.trained.values), scaled.trained.values)
      << "nothing is left to do";
}

// The file that darknet's own detections are known of, on its photographs.
TEST(DarknetInOpenCv, TheNetworkThatDarknetWroteDetectsTheSame) {
  const fs::path golden = source_dir() / "../shared/golden";
  if (!fs::exists(golden)) GTEST_SKIP() << "darknet's own network is not in ../shared";
  const DarknetTrained read =
      read_darknet_trained({golden / "tiny-half.cfg", golden / "tiny-half.weights", golden / "obj.names"});
  const RealisticModel made{read.trained, {}};
  const int size = made.trained.size.width;
  const float score = 0.21f, least = score - 1e-3f;
  size_t compared = 0;
  for (const char* name : {"dog.jpg", "BloodImage_00001.jpg", "BloodImage_00010.jpg"}) {
    SCOPED_TRACE(name);
    cv::Mat values(size, size, CV_32FC3);
    fill_darknet_input(read_darknet_image(golden / name), size, false, values.ptr<float>());
    const auto ours = candidates_of(made, least, values.ptr<float>());
    const auto theirs =
        candidates_of_opencv(made, DarknetNumbers::scaled, cv::dnn::blobFromImage(values), least);
    expect_same_detections(ours, theirs, score);
    const NmsOptions nms{.kind = NmsMethod::greedy, .iou = iou_limit, .score = least};
    expect_same_detections(non_max_suppression(ours, nms), non_max_suppression(theirs, nms), score);
    compared += ours.size();
  }
  EXPECT_GT(compared, 200u);
}

}  // namespace
}  // namespace brightnet::testing
