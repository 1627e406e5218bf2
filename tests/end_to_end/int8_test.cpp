// `export --int8`, and `detect` and `eval` with `--precision int8`, as people use them. What is computed is tested in
// tests/detect/quantization/, and in ONNX Runtime in onnx_runtime_test.cpp.
#include <nlohmann/json.hpp>

#include "formats/weights.h"
#include "kernels/cpu/quantized_convolution.h"
#include "tests/end_to_end/program.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Int8 : public ::testing::Test {
 protected:
  void SetUp() override {
    write_small_weights(run_);
    write_atomically(
        run_.folder() / "data.yaml",
        std::string("path: data\ntrain: images/train\nval: images/val\nnames: [circle, square]\n"));
  }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }
  ProgramResult run_export(std::vector<std::string> more) {
    more.insert(more.begin(), {"export", "--weights", "weights.safetensors"});
    return run(more);
  }
  void expect_refused(const ProgramResult& result, const std::string& words, int code = 2) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  }

  SmallRun run_{6, 4};
};

TEST_F(Int8, IsWrittenBesideTheWeightsFromOneCalibration) {
  const ProgramResult made =
      run_export({"--format", "safetensors", "--int8", "--data", "data.yaml", "--json", "report.json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("range by"), std::string::npos) << made.out;
  const json report = json::parse(read_file(run_.folder() / "report.json"));
  ASSERT_FALSE(report["ranges"].empty());
  EXPECT_EQ(report["ranges"][0]["layers"][0], "conv1");
  EXPECT_LE(report["ranges"][0]["error"], report["ranges"][0]["error_of_min_max"]);
  EXPECT_FALSE(report.contains("layers"));
  ASSERT_EQ(run_export({"--format", "onnx", "--int8", "--data", "data.yaml"}).code, 0);
  // Of the file that has the scales, the same ONNX file.
  ASSERT_EQ(
      run({"export", "--weights", "weights_int8.safetensors", "--format", "onnx", "--out", "again.onnx"})
          .code,
      0);
  EXPECT_EQ(read_file(run_.folder() / "again.onnx"), read_file(run_.folder() / "weights_int8.onnx"));
  expect_refused(run({"export", "--weights", "weights_int8.safetensors", "--format", "onnx", "--int8",
                      "--data", "data.yaml"}),
                 "quantised already");
}

TEST_F(Int8, IsCalibratedAtTheSizeThatIsExported) {
  const ProgramResult made = run_export(
      {"--format", "onnx", "--int8", "--data", "data.yaml", "--size", "96", "--json", "report.json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(json::parse(read_file(run_.folder() / "report.json"))["size"], 96);
}

TEST_F(Int8, IsCalibratedOnAFolderOfPhotos) {
  fs::copy(run_.folder() / "data/images/val", run_.folder() / "photos");
  const ProgramResult made = run_export({"--format", "safetensors", "--int8", "--data", "photos"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE((made.out + made.err).find("Calibrating on 4 of 4 images"), std::string::npos) << made.err;
  EXPECT_TRUE(fs::exists(run_.folder() / "weights_int8.safetensors"));
}

TEST_F(Int8, TheAdviceForImagesWithoutClassNamesCanBeFollowed) {
  fs::create_directories(run_.folder() / "plain");
  for (const char* part : {"images", "labels"})
    fs::copy(run_.folder() / "data" / part, run_.folder() / "plain" / part, fs::copy_options::recursive);
  const std::vector<std::string> words{"--format", "safetensors", "--int8", "--data", "plain"};
  const ProgramResult refused = run_export(words);
  expect_refused(refused, "List them, one a line, in /");
  expect_refused(refused, "/plain/classes.txt.");
  EXPECT_EQ(refused.err.find("--set"), std::string::npos) << refused.err;
  write_atomically(run_.folder() / "plain/classes.txt", std::string("circle\nsquare\n"));
  EXPECT_EQ(run_export(words).code, 0);
}

TEST_F(Int8, WhatDarknetsFilesLoseOfItIsSaid) {
  const auto said = [&](const char* weights) {
    const ProgramResult made =
        run({"export", "--weights", weights, "--format", "darknet", "--out", "dk", "--force"});
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out + made.err;
  };
  ASSERT_EQ(run_export({"--format", "safetensors", "--int8", "--data", "data.yaml"}).code, 0);
  const std::string quantised = said("weights_int8.safetensors"), plain = said("weights.safetensors");
  EXPECT_NE(quantised.find("cannot hold these weights' scales of int8"), std::string::npos) << quantised;
  EXPECT_EQ(plain.find("int8"), std::string::npos) << plain;
}

TEST_F(Int8, IsCalledByTheWholeNameOfTheWeightsAndCalibratedOnAsManyImagesAsAskedFor) {
  fs::copy(run_.folder() / "weights.safetensors", run_.folder() / "net.v2.safetensors");
  const ProgramResult made = run({"export", "--weights", "net.v2.safetensors", "--format", "safetensors",
                                  "--int8", "--data", "data.yaml", "--calibration-images", "3"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("Calibrating on 3 of 6 training images"), std::string::npos) << made.err;
  EXPECT_TRUE(fs::exists(run_.folder() / "net.v2_int8.safetensors"));
}

TEST_F(Int8, DetectsAndEvaluatesAlmostWhatFp32Does) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  ASSERT_EQ(run_export({"--format", "safetensors", "--int8", "--data", "data.yaml"}).code, 0);
  const auto objects = [&](const std::string& weights, const std::string& precision) {
    const ProgramResult found = run({"detect", "--weights", weights, "--source", "data/images/val", "--json",
                                     "-", "--device", "cpu", "--precision", precision, "--conf", "0.1"});
    EXPECT_EQ(found.code, 0) << found.err;
    size_t count = 0;
    const json answer = json::parse(found.out);
    for (const auto& image : answer) count += image["detections"].size();
    return static_cast<double>(count);
  };
  const double fp32 = objects("weights.safetensors", "fp32");
  EXPECT_GT(fp32, 20);
  EXPECT_NEAR(objects("weights_int8.safetensors", "int8"), fp32, 0.1 * fp32);
  EXPECT_NEAR(objects("weights_int8.safetensors", "fp32"), fp32, 0.05 * fp32);
  const ProgramResult evaluated =
      run({"eval", "--data", "data.yaml", "--weights", "weights_int8.safetensors", "--precision", "int8",
           "--device", "cpu", "--json", "-", "--no-plots"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(json::parse(evaluated.out)["images"], 4);
}

TEST_F(Int8, MaxLossSaysWhatEachLayerCostsAndBrings) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const ProgramResult made = run_export({"--format", "safetensors", "--int8", "--data", "data.yaml",
                                         "--max-loss", "0.3", "--json", "report.json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("this layer alone"), std::string::npos) << made.out;
  const json report = json::parse(read_file(run_.folder() / "report.json"));
  ASSERT_EQ(report["layers"].size(), 4u) << "all convolutions but those that predict";
  const TrainedModel written = load_trained_model(run_.folder() / "weights_int8.safetensors");
  for (const auto& layer : report["layers"]) {
    for (size_t i = 0; i < written.model.layers.size(); ++i) {
      if (written.model.layers[i].name != layer["name"].get<std::string>()) continue;
      EXPECT_EQ(written.model.quantization[i].weight_scales.empty(), layer["precision"] == "fp32") << layer;
    }
  }
}

TEST_F(Int8, AFileThatOpenCvCannotReadIsAnsweredByWhatCan) {
  ASSERT_EQ(run_export({"--format", "onnx", "--int8", "--data", "data.yaml"}).code, 0);
  const ProgramResult found =
      run({"detect", "--weights", "weights_int8.onnx", "--source", "data/images/val", "--no-save"});
  if (found.code == 0) GTEST_SKIP() << "this OpenCV reads it";
  for (const char* words :
       {"weights_int8.onnx: this network is quantised", "--int8", "--precision int8", "ONNX Runtime"})
    expect_refused(found, words);
  EXPECT_EQ(found.err.find("Export it again"), std::string::npos) << found.err;
}

TEST_F(Int8, WhereItCannotBeWrittenIsSaidBeforeTheCalibration) {
  write_atomically(run_.folder() / "mine.txt", std::string("mine"));
  for (const char* format : {"onnx", "safetensors"}) {
    for (const char* out : {"data", "mine.txt/new/x"}) {
      const ProgramResult refused =
          run_export({"--format", format, "--int8", "--data", "data.yaml", "--out", out, "--force"});
      expect_refused(refused, "--out");
      EXPECT_EQ(refused.out.find("range by"), std::string::npos) << format << ' ' << out;
    }
  }
}

TEST_F(Int8, TheReportIsNoFileThatIsWrittenBesideIt) {
  const auto expect_refused_before = [&](const std::vector<std::string>& format, const std::string& file) {
    std::vector<std::string> words{"--int8", "--data", "data.yaml", "--json", file};
    words.insert(words.begin(), format.begin(), format.end());
    const ProgramResult refused = run_export(words);
    expect_refused(refused, file + ": two outputs would be written there");
    EXPECT_EQ(refused.err.find("Calibrating"), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(run_.folder() / file));
  };
  expect_refused_before({"--format", "onnx"}, "weights_int8.onnx");
  expect_refused_before({"--format", "safetensors", "--out", "new/x"}, "new/x");
  expect_refused_before({"--for", "triton", "--out", "served"}, "served/config.pbtxt");
}

TEST_F(Int8, IsRefusedWhereItCannotBe) {
  expect_refused(run_export({"--format", "onnx", "--int8"}), "--data");
  expect_refused(run_export({"--format", "onnx", "--max-loss", "0.3"}), "--int8");
  expect_refused(run_export({"--format", "darknet", "--int8", "--data", "data.yaml"}), "--int8");
  expect_refused(run({"detect", "--weights", "weights.safetensors", "--source", "data/images/val", "--device",
                      "cpu", "--precision", "int8"}),
                 "not quantised");
  expect_refused(run({"train", "run.yaml", "--device", "cpu", "--precision", "int8"}),
                 "precision of inference");
}

}  // namespace
}  // namespace brightnet::testing
