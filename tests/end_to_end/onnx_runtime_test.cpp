// Exported files in ONNX Runtime, by the programs that docs/deploy.md shows: they must find what `detect` finds.
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "kernels/cpu/quantized_convolution.h"
#include "kernels/math/iou.h"
#include "tests/end_to_end/program.h"
#include "tests/formats/realistic_model.h"
#include "tests/paths.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// The first program in this language after a heading of docs/deploy.md.
std::string documented_program(const std::string& heading, const std::string& language) {
  const std::string page = read_file(source_dir() / "docs/deploy.md");
  const size_t section = page.find("\n## " + heading + "\n");
  const std::string fence = "```" + language + "\n";
  EXPECT_NE(page.find(fence, section), std::string::npos) << "the page has no such program";
  const size_t begin = page.find(fence, section) + fence.size();
  return page.substr(begin, page.find("\n```", begin) - begin + 1);
}

struct FoundObject {
  std::string name;
  double score = 0;
  Box box;
};

Box box_of(double x1, double y1, double x2, double y2) {
  return {static_cast<float>((x1 + x2) / 2), static_cast<float>((y1 + y2) / 2), static_cast<float>(x2 - x1),
          static_cast<float>(y2 - y1)};
}

class OnnxRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("onnx_runtime_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "images");
    write_atomically(folder_ / "detect.py", documented_program("ONNX Runtime", "python"));
    const ProgramResult asked = Program(python(), {"-c", "import numpy, onnxruntime, PIL"}, folder_).wait();
    if (asked.code != 0)
      GTEST_SKIP() << python() << " has no onnxruntime, numpy and PIL; BRIGHTNET_PYTHON names another: "
                   << asked.err.substr(asked.err.rfind('\n', asked.err.size() - 2) + 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A network with the statistics of its picture, and that picture larger than its input and wider than high.
  void write_network(bool letterbox, int channels = 3, Resize resize = Resize::antialiased) {
    Model model = shipped_model("yolov4-tiny", 4);
    model.channels = channels;
    model.description = YAML::Node(YAML::NodeType::Null);  // it is of three channels
    RealisticModel made = realistic_model(std::move(model), 192);
    made.trained.letterbox = letterbox;
    made.trained.resize = resize;
    save_weights(folder_ / "weights.safetensors", made.trained);
    cv::Mat bgr, larger;
    cv::cvtColor(made.image, bgr, channels == 1 ? cv::COLOR_GRAY2BGR : cv::COLOR_RGB2BGR);
    cv::resize(bgr, larger, cv::Size(500, 360), 0, 0, cv::INTER_CUBIC);
    cv::imwrite((folder_ / "images/photo.png").string(), larger);
  }

  std::vector<FoundObject> by_onnx_runtime(const std::string& file) {
    const ProgramResult ran = Program(python(), {"detect.py", file, "images/photo.png"}, folder_).wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::vector<FoundObject> found;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);  // "class 2 0.87 …"
      std::string word, number;
      double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
      FoundObject object;
      words >> word >> number >> object.score >> x1 >> y1 >> x2 >> y2;
      object.name = word + ' ' + number;
      object.box = box_of(x1, y1, x2, y2);
      found.push_back(object);
    }
    return found;
  }

  std::vector<FoundObject> by_detect(const std::string& weights, const std::string& precision) {
    const ProgramResult ran =
        run_program({"detect", "--weights", weights, "--source", "images/photo.png", "--json", "-",
                     "--device", "cpu", "--precision", precision, "--nms", "0.45"},
                    folder_);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::vector<FoundObject> found;
    const auto answer = nlohmann::json::parse(ran.out);
    for (const auto& object : answer[0]["detections"]) {
      const auto& box = object["box"];
      found.push_back({object["name"], object["score"], box_of(box[0], box[1], box[2], box[3])});
    }
    return found;
  }

  /// How many of these are among the others, with this IoU.
  static int among(const std::vector<FoundObject>& these, const std::vector<FoundObject>& others,
                   float least) {
    int count = 0;
    for (const FoundObject& one : these) {
      count += std::any_of(others.begin(), others.end(), [&](const FoundObject& other) {
        return one.name == other.name && iou(one.box, other.box) >= least;
      });
    }
    return count;
  }

  fs::path folder_;
};

TEST_F(OnnxRuntime, TheDocumentedProgramFindsWhatDetectFinds) {
  for (const auto& [letterbox, resize] : {std::pair{false, Resize::antialiased},
                                          {true, Resize::antialiased},
                                          {false, Resize::darknet},
                                          {true, Resize::darknet}}) {
    write_network(letterbox, 3, resize);
    const ProgramResult exported =
        run_program({"export", "--weights", "weights.safetensors", "--format", "onnx", "--force"}, folder_);
    ASSERT_EQ(exported.code, 0) << exported.err;
    const auto theirs = by_onnx_runtime("weights.onnx"), ours = by_detect("weights.safetensors", "fp32");
    EXPECT_GT(ours.size(), 10u);
    EXPECT_NEAR(static_cast<double>(ours.size()), static_cast<double>(theirs.size()), 1)
        << "one may stand at the threshold";
    const std::string how = fmt::format("letterbox {}, resize {}", letterbox, enum_name(resize));
    EXPECT_GE(among(ours, theirs, 0.99f), std::ssize(ours) - 1) << how;
    EXPECT_GE(among(theirs, ours, 0.99f), std::ssize(theirs) - 1) << how;
  }
}

TEST_F(OnnxRuntime, TheDocumentedProgramTakesNetworksOfOneChannelAndTurnedPhotos) {
  write_network(true, 1);
  // As a phone writes a photo that was taken upright: lying, and a note of how to turn it.
  const ProgramResult turned =
      Program(python(),
              {"-c",
               "from PIL import Image; photo = Image.open('images/photo.png'); exif = "
               "photo.getexif(); exif[0x0112] = 6; photo.save('images/photo.png', "
               "exif=exif)"},
              folder_)
          .wait();
  ASSERT_EQ(turned.code, 0) << turned.err;
  ASSERT_EQ(run_program({"export", "--weights", "weights.safetensors", "--format", "onnx"}, folder_).code, 0);
  const auto theirs = by_onnx_runtime("weights.onnx"), ours = by_detect("weights.safetensors", "fp32");
  EXPECT_GT(ours.size(), 10u);
  EXPECT_GE(among(ours, theirs, 0.99f), std::ssize(ours) - 1);
  EXPECT_GE(among(theirs, ours, 0.99f), std::ssize(theirs) - 1);
}

// The other runtimes of the page are put into ONNX Runtime's program, as it says.
class OtherRuntime : public OnnxRuntime {
 protected:
  /// False: this Python has no such module.
  bool use(const std::string& heading, const std::string& module) {
    if (Program(python(), {"-c", "import " + module}, folder_).wait().code != 0) return false;
    std::string program = read_file(folder_ / "detect.py");
    const std::string call = "session.run([\"boxes\", \"scores\"], {\"images\": pixels})",
                      image = "image = Image.open";
    EXPECT_NE(program.find(call), std::string::npos);
    program.replace(program.find(call), call.size(), "boxes_and_scores(pixels)");
    program.insert(program.find(image), documented_program(heading, "python") + '\n');
    write_atomically(folder_ / "detect.py", program);
    write_network(false);
    EXPECT_EQ(run_program({"export", "--weights", "weights.safetensors", "--format", "onnx"}, folder_).code,
              0);
    return true;
  }
  void expect_the_same_objects() {
    const auto theirs = by_onnx_runtime("weights.onnx"), ours = by_detect("weights.safetensors", "fp32");
    EXPECT_GT(ours.size(), 10u);
    EXPECT_GE(among(ours, theirs, 0.99f), std::ssize(ours) - 1);
    EXPECT_GE(among(theirs, ours, 0.99f), std::ssize(theirs) - 1);
  }
};

TEST_F(OtherRuntime, OpenVinoFindsWhatDetectFinds) {
  if (!use("OpenVINO", "openvino")) GTEST_SKIP() << python() << " has no openvino";
  expect_the_same_objects();
}

TEST_F(OtherRuntime, NcnnFindsWhatDetectFinds) {
  if (!use("ncnn", "ncnn, pnnx")) GTEST_SKIP() << python() << " has no ncnn and pnnx";
  // The converter lies beside Python, in its environment.
  const fs::path beside = fs::path(python()).parent_path();
  const ProgramResult converted =
      Program((beside / "pnnx").string(), {"weights.onnx", "inputshape=[1,3,192,192]f32", "fp16=0"}, folder_)
          .wait();
  ASSERT_TRUE(fs::exists(folder_ / "weights.ncnn.bin")) << converted.err;
  expect_the_same_objects();
}

TEST_F(OtherRuntime, TfLiteFindsWhatDetectFinds) {
  if (!use("TFLite", "onnx2tf, ai_edge_litert.interpreter"))
    GTEST_SKIP() << python() << " has no onnx2tf and ai-edge-litert";
  // The converter would download this to compare with.
  Program(python(),
          {"-c",
           "import numpy; numpy.save('calibration_image_sample_data_20x128x128x3_float32.npy', "
           "numpy.random.rand(20, 128, 128, 3).astype('float32'))"},
          folder_)
      .wait();
  const fs::path beside = fs::path(python()).parent_path();
  const ProgramResult converted =
      Program((beside / "onnx2tf").string(), {"-i", "weights.onnx", "-o", "tflite", "-osd"}, folder_).wait();
  ASSERT_TRUE(fs::exists(folder_ / "tflite/weights_float32.tflite")) << converted.err;
  expect_the_same_objects();
}

TEST_F(OnnxRuntime, ComputesTheInt8FileAsDetectComputesItsOwn) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  write_network(false);
  fs::create_directories(folder_ / "labels");
  write_atomically(folder_ / "labels/photo.txt", std::string("0 0.5 0.5 0.2 0.2\n"));
  write_atomically(
      folder_ / "data.yaml",
      std::string("path: .\ntrain: images\nval: images\nnames: [class 0, class 1, class 2, class 3]\n"));
  for (const std::string format : {"onnx", "safetensors"}) {
    const ProgramResult exported =
        run_program({"export", "--weights", "weights.safetensors", "--format", format, "--int8", "--data",
                     "data.yaml", "--json", "report.json", "--force"},
                    folder_);
    ASSERT_EQ(exported.code, 0) << exported.err;
  }
  const auto theirs = by_onnx_runtime("weights_int8.onnx"),
             ours = by_detect("weights_int8.safetensors", "int8"),
             fp32 = by_detect("weights.safetensors", "fp32");
  // Ours rounds once a convolution, ONNX Runtime once more before the activation: the objects are the same, of a random
  // network with hundreds of scores near the threshold nearly all.
  EXPECT_GT(among(fp32, ours, 0.8f), 0.8 * static_cast<double>(fp32.size()));
  EXPECT_GT(among(fp32, theirs, 0.8f), 0.8 * static_cast<double>(fp32.size()));
  EXPECT_GT(among(ours, theirs, 0.8f), 0.8 * static_cast<double>(ours.size()));
}

}  // namespace
}  // namespace brightnet::testing
