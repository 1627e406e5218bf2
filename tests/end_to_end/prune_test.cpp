// `prune`, and every command that takes what it wrote.
#include <nlohmann/json.hpp>

#include "tests/end_to_end/runs.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

using Json = nlohmann::json;

class PruneCommand : public Runs {
 protected:
  void SetUp() override { write_small_weights(run_); }
};

TEST_F(PruneCommand, WhatItWritesIsTakenByEveryCommand) {
  const std::string weights = "small/weights.safetensors";
  const ProgramResult made =
      run({"prune", "--weights", "weights.safetensors", "--out", "small", "--json", "answer.json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("GFLOP at 64x64"), std::string::npos) << made.out;
  const std::string command =
      "brightnet train --model small/model.yaml --weights small/weights.safetensors --size 64";
  EXPECT_NE(made.out.find(command), std::string::npos) << made.out;
  const auto expect_taken = [&](const std::vector<std::string>& arguments) {
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << arguments[0] << ": " << result.err;
    return result;
  };
  const ProgramResult trained =
      expect_taken(with_settings({"train", "--model", "small/model.yaml", "--weights", weights, "--size",
                                  "64", "--data", "run.yaml", "--out", "tuned"},
                                 SmallRun::short_run({"train.epochs=1"})));
  EXPECT_EQ(trained.err.find("initialised fresh"), std::string::npos) << trained.err;
  expect_taken({"detect", "--weights", weights, "--source", "data/images/val", "--conf", "0.1"});
  expect_taken({"eval", "run.yaml", "--weights", "tuned/weights/last.safetensors", "--no-plots"});
  expect_taken({"export", "--weights", weights, "--format", "onnx", "--out", "small.onnx"});
  expect_taken(
      {"bench", "small/model.yaml", "--batch", "1", "--size", "64", "--seconds", "0.05", "--steps-only"});
  expect_taken({"memory", "small/model.yaml", "--batch", "1", "--size", "64"});
  // The answer says what the files hold.
  const Json answer = Json::parse(file("answer.json")),
             memory = Json::parse(
                 run({"memory", "small/model.yaml", "--batch", "1", "--size", "64", "--json", "-"}).out);
  EXPECT_EQ(memory["trainable_parameters"], answer["parameters_after"]);
}

TEST_F(PruneCommand, TheCommandThatItPrintsCanBeCopied) {
  const ProgramResult made = run({"prune", "--weights", "weights.safetensors", "--out", "half of it"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string command =
      "train --model 'half of it/model.yaml' --weights 'half of it/weights.safetensors' --size";
  EXPECT_NE(made.out.find(command), std::string::npos) << made.out;
}

TEST_F(PruneCommand, RefusesInOneParagraph) {
  const auto expect_refused = [&](std::vector<std::string> more, const std::string& words) {
    more.insert(more.begin(), {"prune", "--out", "small"});
    const ProgramResult result = run(more);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  expect_refused({"--weights", "weights.safetensors", "--keep", "1.5"}, "at most 1");
  expect_refused({"--weights", "weights.safetensors", "--by", "size"}, "norm");
  expect_refused({"--weights", "weights.safetensors", "--by", "taylor"}, "--data");
  expect_refused({"--weights", "weights.safetensors", "--multiple", "0"}, "from 1");
  expect_refused({"--weights", "run.yaml"}, "");
  expect_refused({}, "--weights");
  for (const char* file : {"small/model.yaml", "small/weights.safetensors"})
    expect_refused({"--weights", "weights.safetensors", "--json", file},
                   "two outputs would be written there");
  EXPECT_FALSE(std::filesystem::exists(path("small")));
}

}  // namespace
}  // namespace brightnet::testing
