// `brightnet export` as people use it: the file it writes, what it prints, and what it refuses.
#include <nlohmann/json.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "tests/end_to_end/program.h"
#include "tests/formats/realistic_model.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A folder with the weights of a network, weights.safetensors, and a picture of its input's
/// size, picture.png.
class ExportFolder {
 public:
  ExportFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("export_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "pictures");
    const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 4), 192);
    save_weights(folder_ / "weights.safetensors", made.trained);
    cv::Mat bgr;
    cv::cvtColor(made.image, bgr, cv::COLOR_RGB2BGR);
    cv::imwrite((folder_ / "pictures/picture.png").string(), bgr);
  }
  ~ExportFolder() { fs::remove_all(folder_); }

  const fs::path& path() const { return folder_; }
  fs::path operator/(const char* name) const { return folder_ / name; }

  ProgramResult run(const std::vector<std::string>& arguments) const {
    return run_program(arguments, folder_);
  }
  ProgramResult run_export(std::vector<std::string> more) const {
    more.insert(more.begin(), {"export", "--weights", "weights.safetensors", "--format", "onnx"});
    return run(more);
  }

 private:
  fs::path folder_;
};

std::vector<Detection> detections_by_opencv(const fs::path& onnx, const fs::path& picture, int size,
                                            float least) {
  cv::dnn::Net net = cv::dnn::readNetFromONNX(onnx.string());
  net.setInput(
      cv::dnn::blobFromImage(cv::imread(picture.string()), 1 / 255.0, cv::Size(size, size), {}, true));
  std::vector<cv::Mat> outputs;
  net.forward(outputs, std::vector<cv::String>{"boxes", "scores"});
  std::vector<Detection> candidates;
  for (int i = 0; i < outputs[0].size[1]; ++i) {
    const float* corners = outputs[0].ptr<float>(0, i);
    const Box box{(corners[0] + corners[2]) / 2, (corners[1] + corners[3]) / 2, corners[2] - corners[0],
                  corners[3] - corners[1]};
    for (int c = 0; c < outputs[1].size[2]; ++c)
      candidates.push_back({box, c, outputs[1].ptr<float>(0, i)[c]});
  }
  return non_max_suppression(candidates, {.iou = 0.45f, .score = least, .max_detections = 100'000});
}

TEST(Export, WritesOnnxThatFindsInOpenCvWhatDetectFinds) {
  const ExportFolder folder;
  const ProgramResult exported = folder.run_export({});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(exported.out.find("images float32 [1, 3, 192, 192]"), std::string::npos) << exported.err;
  EXPECT_NE(exported.out.find("boxes float32 [1, 540, 4]"), std::string::npos) << exported.err;
  EXPECT_NE(exported.out.find("scores float32 [1, 540, 4]"), std::string::npos) << exported.err;

  const ProgramResult detected =
      folder.run({"detect", "--weights", "weights.safetensors", "--source", "pictures/picture.png", "--json",
                  "-", "--conf", "0.299", "--device", "cpu", "--precision", "fp32"});
  ASSERT_EQ(detected.code, 0) << detected.err;
  // detect cuts boxes at the image's border.
  const auto cut = [](Detection d) {
    const float x1 = std::max(0.0f, d.box.x - d.box.w / 2), x2 = std::min(1.0f, d.box.x + d.box.w / 2);
    const float y1 = std::max(0.0f, d.box.y - d.box.h / 2), y2 = std::min(1.0f, d.box.y + d.box.h / 2);
    d.box = {(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1};
    return d;
  };
  std::vector<Detection> ours, theirs;
  const json answer = json::parse(detected.out);
  for (const json& d : answer.at(0).at("detections")) {
    const auto corners = d.at("box").get<std::vector<float>>();
    const float x1 = corners[0] / 192, y1 = corners[1] / 192, x2 = corners[2] / 192, y2 = corners[3] / 192;
    ours.push_back({{(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1}, d.at("class"), d.at("score")});
  }
  for (const Detection& d :
       detections_by_opencv(folder / "weights.onnx", folder / "pictures/picture.png", 192, 0.299f))
    theirs.push_back(cut(d));
  ASSERT_GT(ours.size(), 10u);
  expect_same_detections(ours, theirs, 0.3f);
}

TEST(Export, DescribesWhatItWrote) {
  const ExportFolder folder;
  const ProgramResult exported =
      folder.run_export({"--out", "other.onnx", "--heads", "nms", "--batch", "dynamic", "--size", "128",
                         "--opset", "17", "--conf", "0.4", "--nms", "0.5"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(exported.out.find("detections float32 [detections, 7]"), std::string::npos) << exported.out;
  const ProgramResult described = folder.run({"export", "--describe", "other.onnx"});
  ASSERT_EQ(described.code, 0) << described.err;
  const json description = json::parse(described.out);
  EXPECT_EQ(description.at("outputs"), "nms");
  EXPECT_EQ(description.at("input").at("size"), 128);
  EXPECT_EQ(description.at("input").at("colors"), "RGB");
  EXPECT_EQ(description.at("input").at("letterbox"), false);
  EXPECT_EQ(description.at("classes").size(), 4u);
  EXPECT_EQ(description.at("nms").at("score"), 0.4);
  EXPECT_EQ(description.at("nms").at("iou"), 0.5);
}

TEST(Export, WritesWeightsInFp16BesideTheOthers) {
  const ExportFolder folder;
  const ProgramResult written =
      folder.run({"export", "--weights", "weights.safetensors", "--format", "safetensors", "--half"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_LT(fs::file_size(folder / "weights_half.safetensors"),
            0.51 * static_cast<double>(fs::file_size(folder / "weights.safetensors")));
  const ProgramResult found = folder.run({"detect", "--weights", "weights_half.safetensors", "--source",
                                          "pictures", "--json", "-", "--device", "cpu"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_FALSE(json::parse(found.out)[0]["detections"].empty());
  EXPECT_EQ(folder.run_export({"--half"}).code, 2);
}

TEST(Export, AFileIsCalledByTheWholeNameOfTheWeights) {
  const ExportFolder folder;
  for (const char* weights : {"net.v1.safetensors", "net.v2.safetensors"}) {
    fs::copy(folder / "weights.safetensors", folder / weights);
    const ProgramResult exported = folder.run({"export", "--weights", weights, "--format", "onnx"});
    ASSERT_EQ(exported.code, 0) << exported.err;
  }
  EXPECT_TRUE(fs::exists(folder / "net.v1.onnx"));
  EXPECT_TRUE(fs::exists(folder / "net.v2.onnx"));
  EXPECT_FALSE(fs::exists(folder / "net.onnx")) << "each would replace the other";
  EXPECT_EQ(
      folder.run({"export", "--weights", "net.v2.safetensors", "--format", "safetensors", "--half"}).code, 0);
  EXPECT_TRUE(fs::exists(folder / "net.v2_half.safetensors"));
  EXPECT_EQ(folder.run({"export", "--weights", "net.v2.safetensors", "--for", "triton"}).code, 0);
  EXPECT_TRUE(fs::exists(folder / "net.v2_triton/1/model.onnx"));
}

TEST(Export, RefusesBadArgumentsWithExitCodeTwo) {
  const ExportFolder folder;
  const auto refused = [&](const ProgramResult& result, const std::string& what) {
    EXPECT_EQ(result.code, 2) << what << ": " << result.err;
    EXPECT_NE(result.err.find(what), std::string::npos) << result.err;
  };
  refused(folder.run({"export"}), "--format");
  refused(folder.run({"export", "--weights", "weights.safetensors", "--format", "tflite"}), "tflite");
  refused(folder.run({"export", "--weights", "missing.safetensors", "--format", "onnx"}),
          "missing.safetensors");
  refused(folder.run_export({"--heads", "boxes"}), "boxes");
  refused(folder.run_export({"--opset", "12"}), "12");
  refused(folder.run_export({"--size", "100"}), "100");
  refused(folder.run_export({"--batch", "0"}), "batch");
  refused(folder.run_export({"--batch", "many"}), "many");
  refused(folder.run_export({"--conf", "0.5"}), "--heads nms and --for deepstream only");
  refused(folder.run_export({"--out", "pictures/picture.png/x.onnx"}), "pictures/picture.png");
  refused(folder.run({"export", "--describe", "weights.safetensors"}), "weights.safetensors");
}

TEST(Export, AFolderIsNotReplacedByAFile) {
  const ExportFolder folder;
  for (const char* format : {"onnx", "safetensors"}) {
    for (const char* out : {"pictures", "new/"}) {
      const ProgramResult refused = folder.run(
          {"export", "--weights", "weights.safetensors", "--format", format, "--out", out, "--force"});
      EXPECT_EQ(refused.code, 2) << format;
      EXPECT_NE(refused.err.find("this is a folder"), std::string::npos) << refused.err;
    }
  }
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST(Export, ReplacesAnEarlierExportAndNothingElse) {
  const ExportFolder folder;
  write_atomically(folder / "mine.txt", std::string("precious"));
  const ProgramResult refused = folder.run_export({"--out", "mine.txt"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
  EXPECT_EQ(read_file(folder / "mine.txt"), "precious");
  EXPECT_EQ(folder.run_export({"--out", "mine.txt", "--force"}).code, 0);
  EXPECT_EQ(folder.run_export({"--out", "mine.txt", "--heads", "raw"}).code, 0);

  std::string cut = read_file(folder / "mine.txt");
  cut.resize(cut.size() / 2);
  write_atomically(folder / "cut.onnx", cut);
  const ProgramResult damaged = folder.run({"export", "--describe", "cut.onnx"});
  EXPECT_EQ(damaged.code, 2);
  EXPECT_NE(damaged.err.find("not a whole ONNX file"), std::string::npos) << damaged.err;
}

TEST(SlowExport, OnnxRuntimeFindsTheSameInEveryFlavour) {
  if (std::system((python() + " -c 'import onnxruntime, numpy, PIL' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << python() << " has no onnxruntime, numpy or Pillow";
  const ExportFolder folder;
  const std::string command = python() + ' ' + (source_dir() / "scripts/check_onnx.py").string() +
                              " --brightnet " + program().string() + " --weights " +
                              (folder / "weights.safetensors").string() + " --images " +
                              (folder / "pictures").string() + " --conf 0.3";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace brightnet::testing
