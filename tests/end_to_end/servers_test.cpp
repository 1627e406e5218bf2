// `brightnet export --for`: the folders that Triton and DeepStream read. Neither runs here: the descriptions are held against
// what their documentation knows, and the parser for DeepStream is compiled and run.
#include <map>
#include <set>
#include <sstream>

#include <dlfcn.h>

#include "formats/onnx/metadata.h"
#include "formats/weights.h"
#include "tests/end_to_end/deepstream/nvdsinfer_custom_impl.h"
#include "tests/end_to_end/program.h"
#include "tests/formats/realistic_model.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Servers : public ::testing::Test {
 public:
  Servers() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 4), 192);
    save_weights(folder_ / "weights.safetensors", made.trained);
    classes_ = made.trained.classes;
  }
  ~Servers() override { fs::remove_all(folder_); }

  ProgramResult run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"export", "--weights", "weights.safetensors"});
    return run_program(more, folder_);
  }
  void succeed(const std::vector<std::string>& arguments) const {
    const ProgramResult result = run(arguments);
    ASSERT_EQ(result.code, 0) << result.err;
  }
  std::string text(const char* place) const { return read_file(folder_ / place); }
  /// Of `key=value` lines; sections and comments are left out.
  std::map<std::string, std::string> keys(const char* place) const {
    std::map<std::string, std::string> all;
    std::istringstream lines(text(place));
    for (std::string line; std::getline(lines, line);) {
      const size_t equals = line.find('=');
      if (line.empty() || line[0] == '#' || line[0] == '[') continue;
      EXPECT_NE(equals, std::string::npos) << line;
      all[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return all;
  }

 protected:
  const fs::path folder_ = fs::path(::testing::TempDir()) / "servers";
  std::vector<std::string> classes_;
};

TEST_F(Servers, TritonsModelHasTheTensorsOfTheNetwork) {
  succeed({"--for", "triton", "--out", "repository/blood"});
  EXPECT_EQ(text("repository/blood/config.pbtxt"), R"(name: "blood"
platform: "onnxruntime_onnx"
max_batch_size: 32
input [
  {
    name: "images"
    data_type: TYPE_FP32
    dims: [ 3, 192, 192 ]
  }
]
output [
  {
    name: "boxes"
    data_type: TYPE_FP32
    dims: [ 540, 4 ]
  },
  {
    name: "scores"
    data_type: TYPE_FP32
    dims: [ 540, 4 ]
    label_filename: "labels.txt"
  }
]
dynamic_batching { }
)");
  std::string names;
  for (const std::string& name : classes_) names += name + '\n';
  EXPECT_EQ(text("repository/blood/labels.txt"), names);
  EXPECT_EQ(onnx_batch(folder_ / "repository/blood/1/model.onnx"), 0);
}

// Triton serves a model under the name of its folder alone.
TEST_F(Servers, TritonsModelHasTheNameOfItsFolder) {
  const auto name_in = [&](const char* place) {
    const std::string config = text(place);
    return config.substr(0, config.find('\n'));
  };
  succeed({"--for", "triton", "--out", "."});
  EXPECT_EQ(name_in("config.pbtxt"), "name: \"servers\"");
  succeed({"--for", "triton", "--out", "repository/cells/."});
  EXPECT_EQ(name_in("repository/cells/config.pbtxt"), "name: \"cells\"");
  succeed({"--for", "triton", "--out", "a \"b\" \\"});
  EXPECT_EQ(name_in("a \"b\" \\/config.pbtxt"), R"(name: "a \"b\" \\")");
}

// Triton adds no batch where it cannot stack images: the sides are all of the network's own.
TEST_F(Servers, TritonIsToldOfAFixedBatchAndOfDetections) {
  succeed({"--for", "triton", "--batch", "2"});
  EXPECT_NE(text("weights_triton/config.pbtxt").find("max_batch_size: 0\n"), std::string::npos);
  EXPECT_NE(text("weights_triton/config.pbtxt").find("dims: [ 2, 3, 192, 192 ]"), std::string::npos);
  EXPECT_EQ(text("weights_triton/config.pbtxt").find("dynamic_batching"), std::string::npos);
  EXPECT_EQ(run({"--for", "triton", "--batch", "2"}).code, 2) << "an earlier folder is not replaced";
  succeed({"--for", "triton", "--heads", "nms", "--force"});
  EXPECT_NE(text("weights_triton/config.pbtxt").find("max_batch_size: 0\n"), std::string::npos);
  EXPECT_NE(text("weights_triton/config.pbtxt").find("dims: [ -1, 7 ]"), std::string::npos);
}

TEST_F(Servers, DeepStreamsKeysAreThoseOfItsDocumentation) {
  succeed({"--for", "deepstream", "--conf", "0.3", "--nms", "0.5", "--size", "128x192"});
  const std::set<std::string> documented{"gpu-id",
                                         "gie-unique-id",
                                         "process-mode",
                                         "network-type",
                                         "onnx-file",
                                         "labelfile-path",
                                         "num-detected-classes",
                                         "infer-dims",
                                         "batch-size",
                                         "network-mode",
                                         "net-scale-factor",
                                         "model-color-format",
                                         "maintain-aspect-ratio",
                                         "symmetric-padding",
                                         "cluster-mode",
                                         "parse-bbox-func-name",
                                         "custom-lib-path",
                                         "pre-cluster-threshold",
                                         "nms-iou-threshold",
                                         "topk"};
  auto keys = this->keys("weights_deepstream/config_infer.txt");
  for (const auto& [key, value] : keys) EXPECT_TRUE(documented.contains(key)) << key;
  EXPECT_EQ(keys["num-detected-classes"], "4");
  EXPECT_EQ(keys["infer-dims"], "3;128;192");
  EXPECT_EQ(keys["model-color-format"], "0");
  EXPECT_EQ(keys["maintain-aspect-ratio"], "0") << "the network was trained on stretched images";
  EXPECT_EQ(keys["pre-cluster-threshold"], "0.3");
  EXPECT_EQ(keys["nms-iou-threshold"], "0.5");
  EXPECT_NEAR(std::stod(keys["net-scale-factor"]), 1 / 255.0, 1e-9);
  EXPECT_TRUE(fs::exists(folder_ / "weights_deepstream" / keys["onnx-file"]));
  EXPECT_TRUE(fs::exists(folder_ / "weights_deepstream" / keys["labelfile-path"]));
  EXPECT_NE(text("weights_deepstream/nvdsparse_brightnet.cpp").find(keys["parse-bbox-func-name"] + "("),
            std::string::npos);
  EXPECT_NE(text("weights_deepstream/nvdsparse_brightnet.cpp").find("-o " + keys["custom-lib-path"]),
            std::string::npos);
  EXPECT_EQ(run({"--for", "deepstream", "--heads", "raw", "--out", "raw"}).code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "raw"));
  EXPECT_EQ(run({"--for", "deepstream", "--format", "darknet", "--out", "raw"}).code, 2);
}

TEST_F(Servers, DeepStreamsParserFindsTheObjects) {
  succeed({"--for", "deepstream"});
  const fs::path headers = source_dir() / "tests/end_to_end/deepstream";
  const Program compiler(
      "c++",
      {"-std=c++17", "-shared", "-fPIC", "-Wall", "-Wno-unused-function", "-Werror", "-I" + headers.string(),
       "weights_deepstream/nvdsparse_brightnet.cpp", "-o", "parser.so"},
      folder_);
  const ProgramResult compiled = compiler.wait();
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  void* library = ::dlopen((folder_ / "parser.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << ::dlerror();
  const auto parse = reinterpret_cast<NvDsInferParseCustomFunc>(::dlsym(library, "NvDsInferParseBrightnet"));
  ASSERT_TRUE(parse);

  std::vector<float> boxes{0.25f, 0.5f, 0.5f, 1.5f, 0.1f, 0.1f, 0.2f, 0.2f};
  std::vector<float> scores{0.2f, 0.9f, 0.1f, 0.6f, 0.29f, 0.1f};
  const std::vector<NvDsInferLayerInfo> outputs{{0, {2, {2, 3}, 6}, 1, "scores", scores.data(), 0},
                                                {0, {2, {2, 4}, 8}, 0, "boxes", boxes.data(), 0}};
  std::vector<NvDsInferObjectDetectionInfo> objects;
  ASSERT_TRUE(parse(outputs, {200, 100, 3}, {3, {0.3f, 0.3f, 0.3f}}, objects));
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].classId, 1u);
  EXPECT_FLOAT_EQ(objects[0].detectionConfidence, 0.9f);
  EXPECT_FLOAT_EQ(objects[0].left, 50);
  EXPECT_FLOAT_EQ(objects[0].top, 50);
  EXPECT_FLOAT_EQ(objects[0].width, 50);
  EXPECT_FLOAT_EQ(objects[0].height, 50) << "cut at the image's edge";
  EXPECT_EQ(objects[1].classId, 0u);
  objects.clear();
  EXPECT_FALSE(parse({outputs[0]}, {200, 100, 3}, {3, {0.3f, 0.3f, 0.3f}}, objects)) << "without boxes";
  ::dlclose(library);
}

}  // namespace
}  // namespace brightnet::testing
