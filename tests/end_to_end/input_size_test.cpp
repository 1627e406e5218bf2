// Rectangular and grey networks from a configuration to a deployed file, with the program.

#include <nlohmann/json.hpp>

#include "formats/onnx/metadata.h"
#include "formats/weights.h"
#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"
#include "train/config/config.h"

namespace brightnet::testing {
namespace {

using Json = nlohmann::json;

class InputSizes : public ::testing::Test {
 protected:
  ProgramResult run(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& settings = {}) {
    return run_program(with_settings(arguments, settings), run_.folder());
  }
  /// A short run, whose name is the folder's below runs/.
  ProgramResult train(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> settings = SmallRun::short_run({"name=" + name});
    settings.erase(settings.begin());  // train.size
    settings.insert(settings.end(), more.begin(), more.end());
    return run({"train", "run.yaml", "--device", "cpu"}, settings);
  }
  TrainedModel weights(const std::string& name) {
    return load_trained_model(run_.folder() / "runs" / name / "weights/last.safetensors");
  }
  Json detections(const std::string& weights, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"detect", "--weights",   weights,  "--source", "data/images/val",
                                       "--json", "-",           "--conf", "0.01",     "--device",
                                       "cpu",    "--precision", "fp32"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? Json::parse(result.out) : Json();
  }

  SmallRun run_;
};

void expect_same_boxes(const Json& a, const Json& b) {
  ASSERT_EQ(a.size(), b.size());
  size_t objects = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i]["detections"].size(), b[i]["detections"].size()) << a[i]["file"];
    for (size_t k = 0; k < a[i]["detections"].size(); ++k, ++objects) {
      for (int side = 0; side < 4; ++side) {
        EXPECT_NEAR(a[i]["detections"][k]["box"][side].get<double>(),
                    b[i]["detections"][k]["box"][side].get<double>(), 0.05);
      }
    }
  }
  EXPECT_GT(objects, 0u) << "nothing was compared";
}

TEST_F(InputSizes, ARectangleIsTrainedResumedEvaluatedDetectedAndExported) {
  write_small_weights(run_);  // they find something everywhere, so that there is something to compare
  const ProgramResult trained =
      train("wide", {"train.size=64x128", "train.sizes=[32, 64]", "train.size_every=1",
                     "train.weights=weights.safetensors", "optimizer.rate=0.001"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("input 64x128 (height x width)"), std::string::npos) << trained.err;
  EXPECT_EQ(weights("wide").size, InputSize(64, 128));
  const std::string config = read_file(run_.folder() / "runs/wide/config.yaml");
  EXPECT_NE(config.find("size: [64, 128]"), std::string::npos) << config;
  EXPECT_NE(config.find("sizes: [[32, 64], [64, 128]]"), std::string::npos) << config;
  const ProgramResult resumed = run({"train", "--resume", "runs/wide", "--epochs", "3", "--device", "cpu"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const std::string best = "runs/wide/weights/last.safetensors";
  const ProgramResult evaluated =
      run({"eval", "run.yaml", "--weights", best, "--json", "-", "--no-plots", "--device", "cpu"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_TRUE(Json::parse(evaluated.out).contains("AP"));

  const Json found = detections(best);
  ASSERT_EQ(run({"export", "--weights", best, "--format", "onnx", "--out", "wide.onnx"}).code, 0);
  EXPECT_EQ(read_onnx_metadata(run_.folder() / "wide.onnx").size, InputSize(64, 128));
  const ProgramResult exported =
      run({"export", "--weights", best, "--format", "darknet", "--out", "wide.cfg"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(read_file(run_.folder() / "wide.cfg").find("width=128\nheight=64\n"), std::string::npos);
  // darknet's files bring back the same network, whose input is the same rectangle.
  expect_same_boxes(found, detections("wide.weights", {"--cfg", "wide.cfg", "--resize", "antialiased"}));

  const ProgramResult memory =
      run({"memory", "model.yaml", "--batch", "1", "--size", "64x128", "--json", "-"});
  ASSERT_EQ(memory.code, 0) << memory.err;
  EXPECT_EQ(Json::parse(memory.out)["size"], Json::array({64, 128}));
  EXPECT_EQ(
      Json::parse(run({"memory", "model.yaml", "--batch", "1", "--size", "64", "--json", "-"}).out)["size"],
      64);
  const ProgramResult bench = run({"bench", "model.yaml", "--batch", "1", "--size", "64x128", "--seconds",
                                   "0.1", "--steps-only", "--json", "-"});
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(Json::parse(bench.out)["results"][0]["size"], Json::array({64, 128}));
}

TEST_F(InputSizes, AGreyNetworkIsTrainedFromRgbWeightsAndDeployed) {
  write_small_weights(run_);
  const ProgramResult trained = train("grey", {"train.size=64", "input.channels=1",
                                               "train.weights=weights.safetensors", "optimizer.rate=0.001"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("are summed into those of the grey channel"), std::string::npos) << trained.err;
  EXPECT_EQ(weights("grey").model.channels, 1);
  const std::string best = "runs/grey/weights/last.safetensors";
  const ProgramResult evaluated =
      run({"eval", "run.yaml", "--weights", best, "--json", "-", "--no-plots", "--device", "cpu"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const Json found = detections(best);
  ASSERT_EQ(run({"export", "--weights", best, "--format", "onnx", "--out", "grey.onnx"}).code, 0);
  EXPECT_EQ(read_onnx_metadata(run_.folder() / "grey.onnx").channels, 1);
  ASSERT_EQ(run({"export", "--weights", best, "--format", "darknet", "--out", "grey.cfg"}).code, 0);
  EXPECT_NE(read_file(run_.folder() / "grey.cfg").find("channels=1\n"), std::string::npos);
  expect_same_boxes(found, detections("grey.weights", {"--cfg", "grey.cfg", "--resize", "antialiased"}));
}

TEST_F(InputSizes, AutoTakesTheImagesShape) {
  const ProgramResult trained = train("auto", {"train.size=auto"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("train.size"), std::string::npos) << trained.err;
  const InputSize chosen = weights("auto").size;
  EXPECT_TRUE(chosen.square()) << "the images are squares; chosen: " << chosen.text();
  EXPECT_EQ(read_file(run_.folder() / "runs/auto/config.yaml").find("size: auto"), std::string::npos);
}

// The small images are squares, which a rectangular network letterboxes with bars at both sides: --rect leaves the bars
// out, and the objects stay where they are.
TEST_F(InputSizes, RectangularBatchesFindTheSame) {
  ASSERT_EQ(train("boxed", {"train.size=64x128", "augment.letterbox=true"}).code, 0);
  const std::string best = "runs/boxed/weights/last.safetensors";
  const Json whole = detections(best), rect = detections(best, {"--rect"});
  ASSERT_EQ(whole.size(), rect.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i]["file"], rect[i]["file"]);
    EXPECT_EQ(whole[i]["width"], rect[i]["width"]);
  }
  const ProgramResult evaluated =
      run({"eval", "run.yaml", "--weights", best, "--json", "-", "--no-plots", "--rect"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(Json::parse(evaluated.out)["images"], 4);
  const ProgramResult refused =
      run({"detect", "--weights", best, "--source", "data/images/val", "--rect", "--resize", "darknet"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--rect"), std::string::npos) << refused.err;
}

TEST_F(InputSizes, WhatIsNoSizeIsRefusedWithItsPlace) {
  const auto expect = [&](const std::vector<std::string>& settings, const std::vector<std::string>& words) {
    const ProgramResult result = train("bad", settings);
    EXPECT_EQ(result.code, 2) << settings[0];
    for (const std::string& word : words) EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
  };
  expect({"train.size=64x"}, {"--set", "'size' is '64x'", "height first"});
  expect({"train.size=64x100"}, {"'train.size' is 64x100", "multiple of", "64x96 and 64x112"});
  expect({"train.size=[64, 128]", "train.sizes=[[128, 64]]"}, {"128x64 (height x width)", "one ratio"});
  expect({"train.size=64", "input.channels=2"}, {"2 channels", "3 (RGB) or 1 (grey)"});
  const ProgramResult result = run({"memory", "model.yaml", "--size", "64,128"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("height x width"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace brightnet::testing
