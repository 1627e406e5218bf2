// scripts/compare, with a stand-in for PyTorch: the two programs in turn, and their table.

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* stand_in = R"(#!/bin/sh
while [ $# -gt 0 ]; do
  [ "$1" = --json ] && file=$2
  shift
done
cat > "$file" <<END
{"results": [{"framework": "Torch", "precision": "fp32", "images_per_s": 0.5,
              "forward_ms": 1, "backward_ms": null, "update_ms": null, "peak_bytes": null}]}
END
)";

TEST(Compare, RunsBothProgramsInTurnAndPrintsTheRatio) {
  if (Program("python3", {"--version"}, ::testing::TempDir()).wait().code != 0)
    GTEST_SKIP() << "there is no python3";
  const SmallRun run;
  const fs::path python = run.folder() / "python";
  write_atomically(python, std::string(stand_in));
  fs::permissions(python, fs::perms::owner_all);
  const ProgramResult compared =
      Program((source_dir() / "scripts/compare").string(),
              {"model.yaml", "--size", "64", "--batch", "2", "--precision", "fp32", "--rounds", "2",
               "--seconds", "0.05", "--recompute", "--brightnet", program().string(), "--python",
               python.string(), "--json", "all.json"},
              run.folder())
          .wait();
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_NE(compared.err.find("round 2 of 2: PyTorch"), std::string::npos) << compared.err;
  EXPECT_NE(compared.out.find("x as fast"), std::string::npos) << compared.out;
  EXPECT_NE(compared.out.find("step, brightnet recomputes activations, median"), std::string::npos)
      << compared.out;
  EXPECT_NE(read_file(run.folder() / "all.json").find("\"round\": 2"), std::string::npos);
  EXPECT_NE(read_file(run.folder() / "all.json").find("\"recompute\": true"), std::string::npos);
}

/// A Python that has as much of PyTorch as the benchmark needs before it measures.
class WithoutPyTorch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run("-c", {"pass"}).code != 0) GTEST_SKIP() << "there is no python3";
    const auto module = [&](const std::string& file, const std::string& text) {
      fs::create_directories((files_.folder() / "stubs" / file).parent_path());
      write_atomically(files_.folder() / "stubs" / file, text);
    };
    module("torch/__init__.py", "from . import nn\nsigmoid = None\n");
    module("torch/nn/__init__.py", "class Module: pass\n");
    module("torch/nn/functional.py", "mish = silu = None\n");
    module("yaml.py", "");
    module("onnxruntime.py", "");
  }
  ProgramResult run(const std::string& script, const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"PYTHONPATH=" + (files_.folder() / "stubs").string(), "python3", script};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Program("env", words, files_.folder()).wait();
  }
  static std::string script(const char* name) { return (source_dir() / "scripts" / name).string(); }

 private:
  SmallRun files_;
};

// A word that it does not know was measured as fp32, or as eager, under its own name.
TEST_F(WithoutPyTorch, TheBenchmarkRefusesPrecisionsAndModesThatItDoesNotKnow) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--precision", "fp32,fp61"}, "'fp61' is none of fp32, bf16, tf32, fp16"},
      {{"--modes", "eagr"}, "'eagr' is none of eager, compile"},
      {{"--precision", "tf32", "--device", "cpu"}, "a CPU has no tf32"}};
  for (const auto& [more, message] : cases) {
    std::vector<std::string> words{"model.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult refused = run(script("bench_pytorch.py"), words);
    EXPECT_EQ(refused.code, 2) << refused.out << refused.err;
    EXPECT_NE(refused.err.find(message), std::string::npos) << refused.err;
  }
}

TEST_F(WithoutPyTorch, ComparisonsRefuseWhatTheyCannotCompare) {
  const ProgramResult program = run(script("compare"), {"model.yaml", "--brightnet", "no/brightnet"});
  EXPECT_EQ(program.code, 2) << program.out << program.err;
  EXPECT_NE(program.err.find("there is no program 'no/brightnet'"), std::string::npos) << program.err;
  const ProgramResult precision =
      run(script("compare_inference"), {"best.safetensors", "--precision", "fp16"});
  EXPECT_EQ(precision.code, 1) << precision.out << precision.err;
  EXPECT_NE(precision.err.find("--precision knows fp32, bf16, int8, not 'fp16'"), std::string::npos)
      << precision.err;
  const ProgramResult failed = run(script("compare_inference"),
                                   {"best.safetensors", "--against", "onnxruntime", "--brightnet", "false"});
  EXPECT_EQ(failed.code, 1) << failed.out << failed.err;
  EXPECT_NE(failed.err.find("this command failed:\n  false bench --inference best.safetensors"),
            std::string::npos)
      << failed.err;
  EXPECT_EQ(failed.err.find("Traceback"), std::string::npos) << failed.err;
}

}  // namespace
}  // namespace brightnet::testing
