// Weights and data whose classes are the same in another order, or others: what train and eval make of them.
#include <nlohmann/json.hpp>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The same pictures twice: with the classes circle, square, and as square, circle.
class OrderOfClasses : public ::testing::Test {
 protected:
  OrderOfClasses() {
    write_small_weights(run_);
    fs::copy(run_.folder() / "data", run_.folder() / "turned", fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(run_.folder() / "turned/labels")) {
      if (!entry.is_regular_file()) continue;
      std::string text = read_file(entry.path());
      for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        text[at] = text[at] == '0' ? '1' : '0';
      write_atomically(entry.path(), text);
    }
    for (const char* names : {"data.yaml", "classes.txt"}) fs::remove(run_.folder() / "turned" / names);
    write_yaml("turned", "turned", "square, circle");
    write_yaml("other", "data", "ring, box");
    write_yaml("more", "data", "circle, square, triangle");
  }

  void write_yaml(const std::string& name, const std::string& data, const std::string& classes) {
    write_atomically(run_.folder() / (name + ".yaml"),
                     "model: model.yaml\ntrain: {size: 64, precision: fp32}\ndata: {format: yolo, root: " +
                         data + ", train: images/train, val: images/val, classes: [" + classes + "]}\n");
  }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }
  Json evaluated(const std::string& config, const std::string& weights, std::string* said = nullptr) {
    const ProgramResult result = run({"eval", config, "--weights", weights, "--json", "-"});
    EXPECT_EQ(result.code, 0) << result.err;
    if (said) *said = result.err;
    return result.code == 0 ? Json::parse(result.out) : Json();
  }
  ProgramResult started_from_weights(const std::string& config) {
    return run(with_settings({"train", config, "--weights", "weights.safetensors", "--out", "out"},
                             SmallRun::short_run({"train.iterations=1", "optimizer.rate=1e-20"})));
  }

  SmallRun run_;
};

TEST_F(OrderOfClasses, MakesNoDifferenceToEval) {
  const Json before = evaluated("run.yaml", "weights.safetensors");
  ASSERT_GT(before["AP50"], 0);
  std::string said;
  EXPECT_EQ(evaluated("turned.yaml", "weights.safetensors", &said), before);
  EXPECT_NE(said.find("square, circle, the weights as circle, square: they are matched by name"),
            std::string::npos)
      << said;
  const ProgramResult other = run({"eval", "other.yaml", "--weights", "weights.safetensors"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("circle, square, and the data set has ring, box"), std::string::npos) << other.err;
}

TEST_F(OrderOfClasses, IsThatOfTheDataSetAfterTraining) {
  const ProgramResult trained = started_from_weights("turned.yaml");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("for the classes circle, square, which this data set lists as square, circle"),
            std::string::npos)
      << trained.err;
  const TrainedModel before = load_trained_model(run_.folder() / "weights.safetensors"),
                     after = load_trained_model(run_.folder() / "out/weights/last.safetensors");
  EXPECT_EQ(after.classes, (std::vector<std::string>{"square", "circle"}));
  const ParameterEntry& entry = *after.layout.find("conv3.weight");
  const size_t channel = entry.count / static_cast<size_t>(entry.shape[0]);
  for (size_t i = 0; i < channel; ++i) {
    const float square = before.values[entry.offset + 6 * channel + i];
    EXPECT_NEAR(after.values[entry.offset + 5 * channel + i], square, 1e-6f);
  }
}

TEST_F(OrderOfClasses, IsOfNoUseForOtherClassesWhichIsSaid) {
  const ProgramResult other = started_from_weights("other.yaml");
  ASSERT_EQ(other.code, 0) << other.err;
  for (const char* words : {"circle, square, and this data set has ring, box", "(conv3, conv5) start fresh",
                            "newly initialised: conv3.weight (of other classes)"}) {
    EXPECT_NE(other.err.find(words), std::string::npos) << words << " in: " << other.err;
  }
  const ProgramResult more = started_from_weights("more.yaml");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.err.find("the classes that both have (circle, square); triangle starts fresh."),
            std::string::npos)
      << more.err;
}

}  // namespace
}  // namespace brightnet::testing
