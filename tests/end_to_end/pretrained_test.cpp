// A real pretrained network, darknet's yolov3-tiny.weights, where it lies beside the project: what it sees in darknet's
// own photograph, here, and after an export to ONNX in OpenCV and ONNX Runtime.
#include <algorithm>
#include <cstdlib>
#include <map>

#include <nlohmann/json.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/program.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// What the original darknet says of dog.jpg, at its input of 416 and a threshold of 0.25.
const std::map<std::string, double> in_dog{{"dog", 0.81}, {"car", 0.71}, {"truck", 0.62}, {"bicycle", 0.38}};

class Pretrained : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(pretrained_)) GTEST_SKIP() << "there is no ../shared/pretrained";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const char* file) const { return (pretrained_ / file).string(); }
  std::vector<std::string> with_weights(std::vector<std::string> words) const {
    words.insert(words.end(), {"--weights", at("yolov3-tiny.weights"), "--cfg", at("yolov3-tiny.cfg"),
                               "--names", at("coco.names")});
    return words;
  }
  ProgramResult run(const std::vector<std::string>& words) const {
    ProgramResult result = run_program(words, folder_);
    EXPECT_EQ(result.code, 0) << result.err;
    return result;
  }
  Json detections(const std::vector<std::string>& more = {}, const char* picture = "dog.jpg") const {
    std::vector<std::string> words{"detect", "--source", at(picture), "--device", "cpu", "--json", "-"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(run(with_weights(words)).out).at(0).at("detections");
  }

  const fs::path pretrained_ = fs::absolute(source_dir() / "../shared/pretrained").lexically_normal();
  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      ("pretrained_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

class SlowPretrained : public Pretrained {};

TEST_F(Pretrained, SeesInTheDogsPictureWhatDarknetSees) {
  std::map<std::string, double> best;
  for (const Json& found : detections()) {
    double& score = best[found.at("name")];
    score = std::max(score, found.at("score").get<double>());
  }
  for (const auto& [name, score] : in_dog) EXPECT_NEAR(best[name], score, 0.01) << name;
}

TEST_F(Pretrained, GivesTheSameScoresInOpenCvAfterAnExport) {
  run(with_weights({"export", "--format", "onnx", "--out", "net.onnx"}));
  cv::dnn::Net net = cv::dnn::readNetFromONNX((folder_ / "net.onnx").string());
  // As OpenCV resizes, which is not as darknet does: the scores are those of another picture, by a little.
  const cv::Mat image = cv::imread(at("dog.jpg"));
  net.setInput(cv::dnn::blobFromImage(image, 1.0 / 255, {416, 416}, {}, true), "images");
  const cv::Mat scores = net.forward("scores");
  std::map<std::string, double> best;
  const auto names = read_lines(at("coco.names"));
  ASSERT_EQ(static_cast<size_t>(scores.size[2]), names.size());
  for (int i = 0; i < scores.size[1]; ++i) {
    for (size_t c = 0; c < names.size(); ++c) {
      double& score = best[names[c].text];
      score = std::max(score, static_cast<double>(scores.ptr<float>(0, i)[c]));
    }
  }
  for (const auto& [name, score] : in_dog) EXPECT_NEAR(best[name], score, 0.05) << name;
}

double iou_of(const Json& a, const Json& b) {
  const auto at = [](const Json& box, int i) { return box.at("box").at(i).get<double>(); };
  const double w = std::min(at(a, 2), at(b, 2)) - std::max(at(a, 0), at(b, 0));
  const double h = std::min(at(a, 3), at(b, 3)) - std::max(at(a, 1), at(b, 1));
  const auto area = [&](const Json& box) { return (at(box, 2) - at(box, 0)) * (at(box, 3) - at(box, 1)); };
  const double shared = std::max(w, 0.0) * std::max(h, 0.0);
  return shared / (area(a) + area(b) - shared);
}

// Padding is seen by the layers beside it, so boxes and scores are near, not equal.
TEST_F(Pretrained, SeesInARectangularBatchWhatItSeesInAPaddedSquare) {
  const Json square = detections({"--letterbox", "on", "--resize", "antialiased"}, "person.jpg");
  const Json rect = detections({"--rect", "--resize", "antialiased"}, "person.jpg");
  int clear = 0;
  for (const Json& found : square) {
    if (found.at("score").get<double>() < 0.8) continue;
    ++clear;
    double nearest = 0, score = 0;
    for (const Json& other : rect) {
      if (other.at("name") != found.at("name") || iou_of(found, other) <= nearest) continue;
      nearest = iou_of(found, other);
      score = other.at("score");
    }
    EXPECT_GT(nearest, 0.85) << found;
    EXPECT_NEAR(score, found.at("score").get<double>(), 0.05) << found;
  }
  EXPECT_EQ(clear, 4) << "a person, a horse and two dogs";
}

TEST_F(SlowPretrained, GivesTheSameInOnnxRuntimeAfterAnExport) {
  if (std::system((python() + " -c 'import onnxruntime, numpy, PIL' >/dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "onnxruntime is not installed: pip install onnxruntime numpy pillow";
  run({"import", "--cfg", at("yolov3-tiny.cfg"), "--weights", at("yolov3-tiny.weights"), "--names",
       at("coco.names"), "--out", "net.yaml"});
  const std::string command = python() + ' ' + (source_dir() / "scripts/check_onnx.py").string() +
                              " --weights " + (folder_ / "net.safetensors").string() + " --images " +
                              pretrained_.string() + " --brightnet " + program().string() + " > " +
                              (folder_ / "onnx.txt").string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder_ / "onnx.txt");
}

TEST_F(SlowPretrained, SeesInTilesWhatIsTooSmallInALargePicture) {
  const cv::Mat dog = cv::imread(at("dog.jpg"));  // 768 × 576
  cv::Mat large(3 * 768, 3 * 768, CV_8UC3, cv::Scalar::all(114));
  for (int i = 0; i < 9; ++i) dog.copyTo(large(cv::Rect(i % 3 * 768, i / 3 * 768 + 96, dog.cols, dog.rows)));
  cv::imwrite((folder_ / "large.png").string(), large);
  const auto dogs_in = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"detect", "--source", "large.png", "--device", "cpu", "--json", "-"};
    words.insert(words.end(), more.begin(), more.end());
    const Json found = Json::parse(run(with_weights(words)).out).at(0).at("detections");
    return std::count_if(found.begin(), found.end(),
                         [](const Json& object) { return object.at("name") == "dog"; });
  };
  EXPECT_LT(dogs_in({}), 9);
  EXPECT_EQ(dogs_in({"--tiles", "768,0"}), 9);
  EXPECT_EQ(dogs_in({"--tiles", "768,0.25"}), 9) << "each is in four tiles or more";
}

}  // namespace
}  // namespace brightnet::testing
