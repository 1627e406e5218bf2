// What no machine's memory holds is refused by every command that builds a network or loads images: exit code 2, with
// what it would take and what is free, before anything large is allocated.
#include <nlohmann/json.hpp>

#include "layers/model/reader.h"
#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

/// 3.6 billion parameters.
constexpr const char* wide_model = R"(
name: wide
input: {size: 64}
head: {anchors: [[8, 8]]}
layers:
  - conv: {filters: 60000, size: 1, stride: 8}
  - conv: {filters: 60000, size: 1}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)";
constexpr const char* wide_cfg = R"([net]
width=64
height=64
channels=3
[convolutional]
filters=60000
size=1
stride=8
activation=leaky
[convolutional]
filters=60000
size=1
stride=1
activation=leaky
[convolutional]
filters=7
size=1
stride=1
activation=linear
[yolo]
mask=0
anchors=8,8
classes=2
num=1
)";

class MemoryLimit : public ::testing::Test {
 protected:
  MemoryLimit() {
    write_small_weights(run_);
    write_atomically(run_.folder() / "wide.yaml", std::string(wide_model));
    write_atomically(run_.folder() / "wide.cfg", std::string(wide_cfg));
    write_atomically(run_.folder() / "wide.weights", std::string(4096, '\0'));
    write_wide_weights(run_.folder() / "wide.safetensors");
  }

  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the address sanitizer's own tables need more addresses than these tests allow";
#endif
  }

  /// A whole file of 13 GiB that takes no place on the disk.
  static void write_wide_weights(const std::filesystem::path& file) {
    const Model model = parse_model(YamlDocument::parse(wide_model, "wide"), 2);
    const ParameterLayout layout(model);
    nlohmann::json header;
    header["__metadata__"] = {{"format", "brightnet weights"},
                              {"format_version", "1"},
                              {"model", model.yaml()},
                              {"classes", "[\"circle\", \"square\"]"},
                              {"training", "{}"},
                              {"input", "{\"size\": 64, \"letterbox\": false}"}};
    uint64_t offset = 0;
    for (const ParameterEntry& entry : layout.entries()) {
      const uint64_t end = offset + 4 * entry.count;
      header[entry.name] = {{"dtype", "F32"}, {"shape", entry.shape}, {"data_offsets", {offset, end}}};
      offset = end;
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    write_atomically(file, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text);
    std::filesystem::resize_file(file, sizeof length + length + offset);
  }

  /// Where only 4 GiB can be allocated, whatever the machine has.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& what) {
    std::string command = "ulimit -v 4000000; exec '" + program().string() + "'";
    for (const std::string& argument : arguments) command += " '" + argument + "'";
    const ProgramResult result = Program("sh", {"-c", command}, run_.folder()).wait();
    SCOPED_TRACE(command);
    EXPECT_EQ(result.code, 2) << result.err;
    for (const std::string& part : {std::string("there is not enough memory"), what, std::string("iB, and ")})
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in: " << result.err;
  }

  SmallRun run_;
};

const std::string many = "100";

TEST_F(MemoryLimit, OfATraining) {
  expect_refused({"train", "run.yaml", "--size", "4096", "--set", "train.batch=" + many, "--set",
                  "train.micro_batch=" + many, "--out", "out"},
                 "training 'small' with a micro-batch of " + many + " at 4096 pixels in fp32 takes");
  expect_refused({"train", "run.yaml", "--model", "wide.yaml", "--out", "out"}, "training 'wide', which has");
  expect_refused(
      {"train", "run.yaml", "--size", "8192", "--set", "train.memory_fraction=1e-6", "--out", "out"},
      "with a micro-batch of a single image takes");
  EXPECT_FALSE(std::filesystem::exists(run_.folder() / "out/weights"));
}

TEST_F(MemoryLimit, OfASearchAndOfARateSweep) {
  expect_refused({"tune", "run.yaml", "--find-rate", "--set", "train.size=4096", "--set",
                  "train.batch=" + many, "--set", "train.micro_batch=" + many},
                 "training 'small' with a micro-batch of");
  expect_refused({"tune", "run.yaml", "--trials", "2", "--epochs", "1", "--keys", "optimizer.rate", "--set",
                  "train.size=4096", "--set", "train.batch=" + many, "--set", "train.micro_batch=" + many,
                  "--out", "search"},
                 "training 'small' with a micro-batch of");
}

TEST_F(MemoryLimit, OfAnEvaluationAndOfADetection) {
  expect_refused({"eval", "run.yaml", "--weights", "weights.safetensors", "--size", "4096", "--batch", many,
                  "--tiles", "32", "--no-plots"},
                 "'small' with a batch of " + many + " at 4096 pixels");
  expect_refused({"detect", "--weights", "weights.safetensors", "--source", "data/images/val", "--size",
                  "4096", "--batch", many, "--tiles", "32"},
                 "'small' with a batch of " + many + " at 4096 pixels");
}

// A batch and a size that are each allowed. 65536 · 8192² pixels are 0 in 32 bits.
TEST_F(MemoryLimit, OfWhatCannotBeCounted) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"detect", "--weights", "weights.safetensors", "--source", "data/images/val", "--size", "8192",
            "--batch", "2147483647", "--tiles", "32"},
           {"memory", "model.yaml", "--size", "8192", "--batch", "65536"},
           {"bench", "model.yaml", "--size", "8192", "--batch", "65536"},
           {"train", "run.yaml", "--size", "8192", "--set", "train.batch=65536", "--set",
            "train.micro_batch=65536"}}) {
    const ProgramResult result = run_program(command, run_.folder());
    EXPECT_EQ(result.code, 2) << command[0] << ": " << result.err;
    EXPECT_NE(result.err.find("more than the 2147483647 that can be counted"), std::string::npos)
        << result.err;
  }
}

TEST_F(MemoryLimit, OfParametersThatAFileAsksFor) {
  const std::vector<std::vector<std::string>> readers{{"export", "--format", "onnx", "--out", "x.onnx"},
                                                      {"export", "--format", "darknet", "--out", "x"},
                                                      {"detect", "--source", "data/images/val"},
                                                      {"eval", "run.yaml"}};
  for (std::vector<std::string> command : readers) {
    command.insert(command.end(), {"--weights", "wide.safetensors"});
    expect_refused(command, "parameters: a copy of them in fp32 takes 13.4 GiB");
  }
  std::vector<std::vector<std::string>> of_darknet = readers;
  of_darknet.push_back({"import", "--out", "x.yaml"});
  for (std::vector<std::string> command : of_darknet) {
    command.insert(command.end(), {"--cfg", "wide.cfg", "--weights", "wide.weights"});
    expect_refused(command, "parameters: a copy of them in fp32 takes 13.4 GiB");
  }
}

// Decoded heads repeat their constants for every image of a fixed batch.
TEST_F(MemoryLimit, OfAnExportForALargeBatch) {
  for (const char* heads : {"decoded", "nms"}) {
    const ProgramResult result =
        run_program({"export", "--weights", "weights.safetensors", "--format", "onnx", "--heads", heads,
                     "--batch", "999999", "--size", "8192", "--out", "x.onnx"},
                    run_.folder());
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find("an ONNX file holds 2 GiB"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(run_.folder() / "x.onnx"));
  }
}

TEST_F(MemoryLimit, OfABenchmark) {
  expect_refused({"bench", "model.yaml", "--size", "4096", "--batch", many},
                 "a step of 'small' with a batch of");
  expect_refused({"bench", "wide.yaml"}, "a step of 'wide' with a batch of");
  expect_refused({"bench", "--kernels", "--batch", "1000000"},
                 "measuring operations on tensors of 1000000x304x304x64");
  expect_refused({"bench", "--data", "run.yaml", "--batch", "100000000"}, "batches of 100000000 images of");
}

}  // namespace
}  // namespace brightnet::testing
