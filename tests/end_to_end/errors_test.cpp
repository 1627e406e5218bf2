// What a user gets to see when something is wrong: one paragraph that names the place and the remedy, and the
// documented exit code.
#include <fstream>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Errors : public ::testing::Test {
 protected:
  ProgramResult train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"train", "run.yaml"};
    for (const auto& assignment : SmallRun::short_run()) {
      arguments.push_back("--set");
      arguments.push_back(assignment);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, run_.folder());
  }
  static void expect(const ProgramResult& result, int code, const std::vector<std::string>& words) {
    EXPECT_EQ(result.code, code) << result.err;
    for (const auto& word : words) {
      EXPECT_NE(result.err.find(word), std::string::npos) << "'" << word << "' is not in: " << result.err;
    }
    EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err;
  }
  fs::path label() const {
    for (const auto& entry : fs::directory_iterator(run_.folder() / "data/labels/train")) return entry.path();
    return {};
  }

  SmallRun run_{6, 2};
};

TEST_F(Errors, UnknownKey) {
  run_.write_config("train:\n  epochz: 3\n");
  expect(train(), 2, {"run.yaml:4", "epochz", "'epochs'"});
}

TEST_F(Errors, UnknownKeyOnTheCommandLine) {
  expect(train({"--set", "optimiser.rate=1"}), 2, {"--set", "optimiser", "'optimizer'"});
}

TEST_F(Errors, BrokenYaml) {
  run_.write_config("train: {epochs: 3\n");
  expect(train(), 2, {"run.yaml:", "not valid YAML"});
}

TEST_F(Errors, ClassOutOfRange) {
  const fs::path file = label();
  std::ofstream(file, std::ios::app) << "7 0.5 0.5 0.2 0.2\n";
  expect(train(), 2, {file.filename().string(), "7"});
}

TEST_F(Errors, MalformedLabel) {
  const fs::path file = label();
  std::ofstream(file) << "0 0.5 wide 0.2 0.2\n";
  expect(train(), 2, {file.filename().string() + ":1"});
}

TEST_F(Errors, MissingConfiguration) {
  expect(run_program({"train", "none.yaml"}, run_.folder()), 2, {"none.yaml", "cannot be read"});
  expect(run_program({"train"}, run_.folder()), 2, {"configuration"});
}

TEST_F(Errors, MissingModel) {
  expect(train({"--set", "model=models/none.yaml"}), 2, {"--set", "models/none.yaml", "does not exist"});
}

TEST_F(Errors, MissingData) {
  expect(train({"--set", "data.root=/nowhere"}), 2, {"data.root", "/nowhere"});
  expect(train({"--set", "data.train=images/none"}), 2, {"images/none"});
}

TEST_F(Errors, EmptyDataset) {
  fs::create_directories(run_.folder() / "data/images/empty");
  expect(train({"--set", "data.train=images/empty"}), 2, {"empty"});
}

TEST_F(Errors, SizeThatDoesNotFitTheModel) {
  expect(train({"--set", "train.size=100"}), 2, {"100", "multiples of"});
}

TEST_F(Errors, DeviceThatIsNotThere) {
  expect(train({"--device", "cuda:99"}), 3, {"cuda:99"});
  expect(train({"--device", "cuda:x"}), 2, {"cuda:x", "cuda:0"});
  expect(train({"--device", "cpuu"}), 2, {"cpuu", "'cpu'"});
  expect(train({"--precision", "fp16"}), 3, {"fp16", "bf16"});
  expect(train({"--precision", "fp8"}), 2, {"fp8"});
}

TEST_F(Errors, CommandLine) {
  expect(run_program({}, run_.folder()), 2, {"--help"});
  expect(run_program({"trian"}, run_.folder()), 2, {"'trian'", "'train'"});
  expect(run_program({"eval", "run.yaml", "--weight", "x"}, run_.folder()), 2, {"'--weights'"});
  expect(run_program({"eval", "run.yaml"}, run_.folder()), 2, {"--weights"});
  expect(run_program({"memory", "model.yaml", "--batch", "many"}, run_.folder()), 2, {"--batch"});
  EXPECT_EQ(run_program({"--help"}, run_.folder()).code, 0);
  EXPECT_EQ(run_program({"train", "--help"}, run_.folder()).code, 0);
}

TEST_F(Errors, WeightsThatAreNone) {
  std::ofstream(run_.folder() / "cut.safetensors") << "abc";
  expect(
      run_program({"detect", "--weights", "cut.safetensors", "--source", "data/images/val"}, run_.folder()),
      2, {"cut.safetensors", "safetensors"});
  expect(
      run_program({"detect", "--weights", "none.safetensors", "--source", "data/images/val"}, run_.folder()),
      2, {"none.safetensors"});
  expect(run_program({"detect", "--weights", "none.safetensors", "--source", "nowhere"}, run_.folder()), 2,
         {"nowhere"});
}

TEST_F(Errors, NothingToResume) {
  expect(train({"--resume"}), 2, {"runs/run", "resume"});
  expect(run_program({"train", "--resume", "runs/none"}, run_.folder()), 2, {"runs/none"});
}

TEST_F(Errors, CorruptImageStopsTheCheckAndIsNamed) {
  const fs::path image = *fs::directory_iterator(run_.folder() / "data/images/train");
  const std::string bytes = read_file(image);
  write_atomically(image, bytes.substr(0, bytes.size() / 2));
  const ProgramResult check = run_program({"data", "check", "run.yaml"}, run_.folder());
  EXPECT_EQ(check.code, 2);
  EXPECT_NE(check.out.find(image.filename().string()), std::string::npos) << check.out;
}

}  // namespace
}  // namespace brightnet::testing
