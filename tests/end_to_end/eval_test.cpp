// brightnet eval of what a run left: its data without naming them, an exported network, several views of an image.
#include <nlohmann/json.hpp>

#include "tests/end_to_end/runs.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Evaluated : public Runs {
 protected:
  void SetUp() override {
    write_small_weights(run_);  // which find something everywhere, so that there is something to compare
    const ProgramResult trained = run(train({"--out", "out", "--weights", "weights.safetensors"},
                                            {"train.epochs=2", "optimizer.rate=0.001"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  ProgramResult eval(std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", "--no-plots", "--json", "-"});
    return run(more);
  }
  json scores(const std::vector<std::string>& more) {
    const ProgramResult result = eval(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? json::parse(result.out) : json();
  }
  void refused(const std::vector<std::string>& more, const std::vector<std::string>& words) {
    const ProgramResult result = eval(more);
    EXPECT_EQ(result.code, 2) << result.err;
    for (const std::string& word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << " in: " << result.err;
  }
  static constexpr const char* best = "out/weights/best.safetensors";
};

TEST_F(Evaluated, WeightsAloneAreEvaluatedOnTheDataOfTheirRun) {
  const json named = scores({"run.yaml", "--weights", best, "--precision", "fp32"});
  EXPECT_EQ(scores({"--weights", best}), named);
  EXPECT_EQ(scores({"--weights", "out"})["images"], 4);
  EXPECT_EQ(scores({"--weights", best, "--split", "train"})["images"], 12);
  const ProgramResult said = eval({"--weights", best});
  EXPECT_NE(said.err.find("Data: those of the run out, "), std::string::npos) << said.err;

  fs::copy(path(best), path("copy.safetensors"));
  refused({"--weights", "copy.safetensors"}, {"copy.safetensors", "no data set was named", "--data"});
  fs::rename(path("data"), path("moved"));
  refused({"--weights", best}, {"are not there any more", (path("data")).string(), "--set data.root="});
  EXPECT_EQ(scores({"--weights", best, "--set", "data.root=" + path("moved").string()}), named);
}

TEST_F(Evaluated, AnExportedNetworkScoresAsItsWeights) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--batch", "3"}, {"--batch", "dynamic"}}) {
    std::vector<std::string> words{"export", "--weights", "out", "--format", "onnx"};
    words.insert(words.end(), more.begin(), more.end());
    ASSERT_EQ(run(words).code, 0);
    ASSERT_EQ(fs::exists(path("out/weights/averaged.onnx")) || fs::exists(path("out/weights/best.onnx")),
              true)
        << "beside the weights";
    const std::string file = fs::exists(path("out/weights/averaged.onnx")) ? "averaged" : "best";
    const json trained = scores({"--weights", "out/weights/" + file + ".safetensors"}),
               exported = scores({"--weights", "out/weights/" + file + ".onnx"});
    EXPECT_GT(trained["AP50"], 0) << "there is something to compare";
    for (const char* metric : {"AP", "AP50", "AP75", "AR"})
      EXPECT_NEAR(exported[metric].get<double>(), trained[metric].get<double>(), 0.002) << metric;
    EXPECT_EQ(exported["images"], 4);
  }
  fs::remove(path("out/weights/averaged.onnx"));
  ASSERT_EQ(run({"export", "--weights", best, "--format", "onnx"}).code, 0);
  const std::string onnx = "out/weights/best.onnx";
  const auto detected = [&](const std::string& weights) {
    const ProgramResult result =
        run({"detect", "--weights", weights, "--source", "data/images/val", "--json", "-", "--conf", "0.05"});
    EXPECT_EQ(result.code, 0) << result.err;
    return json::parse(result.out);
  };
  const json ours = detected(best), theirs = detected(onnx);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_EQ(ours[i]["detections"].size(), theirs[i]["detections"].size()) << i;

  refused({"--weights", onnx, "--size", "96"}, {"exported for an input of 64", "--size"});
  refused({"--weights", onnx, "--precision", "bf16"}, {"computed in fp32", "--precision"});
  refused({"--weights", onnx, "--device", "cuda"}, {"on the CPU", "--device"});
  refused({"--weights", onnx, "--rect"}, {"one size", "--rect"});
  refused({"--weights", onnx, "--augment"}, {"one size", "--augment"});
  const ProgramResult train_from = run({"train", "run.yaml", "--weights", onnx});
  EXPECT_EQ(train_from.code, 2);
  EXPECT_NE(train_from.err.find("ONNX network"), std::string::npos) << train_from.err;
  ASSERT_EQ(run({"export", "--weights", best, "--format", "onnx", "--heads", "nms"}).code, 0);
  refused({"--weights", onnx}, {"'nms'", "--heads decoded"});
  write_atomically(path("foreign.onnx"), std::string("\x08\x07\x3a\x00", 4));
  refused({"run.yaml", "--weights", "foreign.onnx"}, {"not exported by brightnet"});
  write_atomically(path("broken.onnx"), std::string("no ONNX at all"));
  refused({"run.yaml", "--weights", "broken.onnx"}, {"broken.onnx", "ONNX"});
}

TEST_F(Evaluated, SeveralViewsOfAnImageAreMerged) {
  const json plain = scores({"--weights", best, "--size", "96"}),
             augmented = scores({"--weights", best, "--size", "96", "--augment"});
  EXPECT_EQ(augmented["augmented"], true);
  EXPECT_FALSE(plain.contains("augmented"));
  EXPECT_NE(augmented["AP"], plain["AP"]);
  EXPECT_EQ(augmented["loss"], plain["loss"]) << "that of the images themselves";
  refused({"--weights", best, "--augment", "--rect"}, {"--augment"});
}

}  // namespace
}  // namespace brightnet::testing
