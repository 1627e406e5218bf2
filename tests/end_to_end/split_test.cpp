// Splits as a user meets them: dividing a data set, the test split, and cross-validation.
#include <nlohmann/json.hpp>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Splits : public ::testing::Test {
 protected:
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }
  /// A training of one epoch.
  ProgramResult train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "train");
    return run(with_settings(arguments, SmallRun::short_run({"train.epochs=1"})));
  }
  Json evaluate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "eval");
    arguments.insert(arguments.end(), {"--weights", "weights.safetensors", "--json", "-"});
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? Json::parse(result.out) : Json();
  }
  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  SmallRun run_;  // 12 training and 4 validation images
};

TEST_F(Splits, WhatIsDividedIsTrainedOnAndEvaluatedAtOnce) {
  write_small_weights(run_);
  const ProgramResult divided = run(
      {"data", "split", "run.yaml", "--out", "parts", "--ratios", "0.5,0.25,0.25", "--json", "split.json"});
  ASSERT_EQ(divided.code, 0) << divided.err;
  EXPECT_TRUE(says(divided.out, "train")) << divided.out;
  EXPECT_TRUE(says(divided.out, "brightnet train parts/run.yaml")) << divided.out;
  const Json split = Json::parse(read_file(run_.folder() / "split.json"));
  const int images[] = {split["splits"][0]["images"], split["splits"][1]["images"],
                        split["splits"][2]["images"]};
  EXPECT_EQ(images[0] + images[1] + images[2], 16);

  const ProgramResult trained = train({"parts/run.yaml"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(says(trained.err, fmt::format("{} training and {} validation images", images[0], images[1])))
      << trained.err;
  const Json test = evaluate({"parts/run.yaml", "--split", "test"});
  EXPECT_EQ(test["split"], "test");
  EXPECT_EQ(test["images"], images[2]);
  EXPECT_EQ(evaluate({"parts/run.yaml"})["split"], "val");
  const ProgramResult stats = run({"data", "stats", "parts/run.yaml", "--split", "test", "--json", "-"});
  EXPECT_EQ(Json::parse(stats.out)["images"], images[2]) << stats.err;
  EXPECT_EQ(Json::parse(stats.out)["split"], "test");
  const ProgramResult checked = run({"data", "check", "parts/run.yaml"});
  EXPECT_EQ(checked.code, 0);
  EXPECT_TRUE(says(checked.out, fmt::format("test: {} image", images[2]))) << checked.out;
  ASSERT_EQ(run({"data", "convert", "parts/run.yaml", "--to", "yolo", "--out", "converted"}).code, 0);
  EXPECT_TRUE(says(read_file(run_.folder() / "converted/data.yaml"), "test: images/test"));

  const ProgramResult again = run({"data", "split", "run.yaml", "--out", "parts"});
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(says(again.err, "already exists and is not an empty folder")) << again.err;
}

TEST_F(Splits, AFolderIsDividedWithoutAConfiguration) {
  const ProgramResult divided = run({"data", "split", "--out", "parts", "--ratios", "0.75,0.25", "data"});
  ASSERT_EQ(divided.code, 0) << divided.err;
  EXPECT_TRUE(says(divided.err, "Data: brightnet's data.yaml in a folder, data")) << divided.err;
  EXPECT_TRUE(says(divided.out, "brightnet train parts/data.yaml --model yolov4-tiny")) << divided.out;
  const ProgramResult trained = train({"parts/data.yaml", "--set", "model=model.yaml"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(fs::exists(run_.folder() / "runs/data/config.yaml")) << trained.err;
}

TEST_F(Splits, TheWeightsOfAConfigurationAreFoundFromItsNewPlace) {
  write_small_weights(run_);
  const auto divided = [&](const std::string& out) {
    const ProgramResult result = run({"data", "split", "run.yaml", "--out", out});
    EXPECT_EQ(result.code, 0) << result.err;
    return YAML::LoadFile((run_.folder() / out / "run.yaml").string())["train"];
  };
  run_.write_config("train: {precision: fp32}\n");
  EXPECT_FALSE(divided("from_scratch")["weights"]);
  run_.write_config("train: {precision: fp32, weights: weights.safetensors}\n");
  const auto weights = divided("finetuned")["weights"].as<std::string>("");
  EXPECT_TRUE(fs::path(weights).is_absolute()) << weights;
  EXPECT_TRUE(fs::equivalent(weights, run_.folder() / "weights.safetensors"));
}

// Whoever begins the run fetches them.
TEST_F(Splits, PublishedWeightsThatAreNotFetchedYetMayBeNamed) {
  run_.write_config("train: {precision: fp32, weights: yolov4-tiny.conv.29}\n");
  ASSERT_EQ(run({"data", "split", "run.yaml", "--out", "parts"}).code, 0);
  const ProgramResult written = run({"config", "run.yaml"});
  ASSERT_EQ(written.code, 0) << written.err;
  write_atomically(run_.folder() / "whole.yaml", written.out);
  for (const char* file : {"parts/run.yaml", "whole.yaml"}) {
    const ProgramResult config = run({"config", file});
    EXPECT_EQ(config.code, 0) << config.err;
    EXPECT_TRUE(says(config.out, "weights/yolov4-tiny.conv.29")) << config.out;
  }
}

TEST_F(Splits, WithoutATestSplitTheKeyIsNamed) {
  write_small_weights(run_);
  const ProgramResult result =
      run({"eval", "run.yaml", "--weights", "weights.safetensors", "--split", "test"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(says(result.err, "data.test is not set")) << result.err;
}

TEST_F(Splits, AFoldIsTrainedInARunOfItsOwnAndEvaluatedAlike) {
  write_small_weights(run_);
  const ProgramResult trained = train({"run.yaml", "--fold", "2/4"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(says(read_file(run_.folder() / "runs/run-fold2/config.yaml"), "fold: 2/4"));
  EXPECT_FALSE(fs::exists(run_.folder() / "runs/run"));

  const Json asked = evaluate({"run.yaml", "--fold", "2/4"});
  EXPECT_EQ(asked["fold"], "2/4");
  const int images = asked["images"];
  EXPECT_NEAR(images, 4, 2);
  const std::string said =
      fmt::format("Fold 2/4: of 16 images {} are trained on and {} validated.", 16 - images, images);
  EXPECT_TRUE(says(trained.err, said)) << trained.err;
  EXPECT_EQ(evaluate({"runs/run-fold2/config.yaml"}), asked);
  Json other_part = evaluate({"run.yaml", "--fold", "3/4"});
  other_part["fold"] = "2/4";
  EXPECT_NE(other_part, asked);
  EXPECT_FALSE(evaluate({"run.yaml"}).contains("fold"));

  const ProgramResult other = run({"train", "--resume", "runs/run-fold2", "--fold", "1/4"});
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(says(other.err, "data.fold = 2/4 and cannot be resumed with 1/4")) << other.err;
  const ProgramResult wrong = run({"config", "run.yaml", "--fold", "5/4"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(says(wrong.err, "--fold: the fold is '5/4'") || says(wrong.err, "the fold is '5/4'"))
      << wrong.err;
}

TEST_F(Splits, AValidationImageThatIsTrainedOnIsReported) {
  const fs::path train = run_.folder() / "data/images/train", val = run_.folder() / "data/images/val";
  const fs::path file = fs::directory_iterator(train)->path();
  fs::copy_file(file, val / ("copy" + file.extension().string()));
  const ProgramResult result = run({"data", "check", "run.yaml"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(says(result.out, "1 image is in two splits")) << result.out;
  EXPECT_TRUE(says(result.out, "(the same bytes)")) << result.out;
}

}  // namespace
}  // namespace brightnet::testing
