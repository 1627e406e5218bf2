// Options reach what they name: a command's answer is that of the library, given the same.
#include <algorithm>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "brightnet/benchmark.h"
#include "brightnet/data.h"
#include "brightnet/memory.h"
#include "brightnet/quantize.h"
#include "cli/commands.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/text.h"
#include "tests/logged.h"
#include "tests/paths.h"
#include "tests/train/small_weights.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

/// What a command prints to standard output, in this process.
std::string printed_by(std::vector<std::string> words) {
  CLI::App app("", "brightnet");
  Action action;
  add_commands(app, action);
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(action(), 0);
  return ::testing::internal::GetCapturedStdout();
}

/// The bytes of all files below a folder, by their places in it.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = read_file(entry.path());
  }
  return files;
}

TEST(OptionsOf, SynthAreThoseOfTheDataSetThatItMakes) {
  const fs::path folder = fs::path(::testing::TempDir()) / "options_of_synth";
  fs::remove_all(folder);
  fs::create_directories(folder);
  printed_by({"data",
              "synth",
              (folder / "ours").string(),
              "--train",
              "3",
              "--val",
              "2",
              "--size",
              "64",
              "--height",
              "48",
              "--object-size",
              "12",
              "--classes",
              "4",
              "--min-objects",
              "2",
              "--max-objects",
              "5",
              "--seed",
              "9"});
  make_synthetic_dataset({.seed = 9,
                          .train_images = 3,
                          .val_images = 2,
                          .size = 64,
                          .height = 48,
                          .object_size = 12,
                          .classes = 4,
                          .min_objects = 2,
                          .max_objects = 5},
                         folder / "theirs");
  EXPECT_EQ(files_below(folder / "ours"), files_below(folder / "theirs"));
  fs::remove_all(folder);
}

TEST(OptionsOf, DataCommandsAreThoseOfTheLibrary) {
  const brightnet::testing::SmallRun run(6, 2);
  const std::string config = run.config().string();
  const Configuration data{.config = config};
  EXPECT_EQ(printed_by({"data", "anchors", config, "--count", "3", "--size", "32x96"}),
            fit_anchors(data, 3, 32, 96).text);
  EXPECT_EQ(printed_by({"data", "stats", config, "--split", "val"}), count_data(data, "val").text);
  EXPECT_EQ(printed_by({"data", "stats", config}), count_data(data, "train").text);
  for (const bool copy : {false, true}) {
    const fs::path out = run.folder() / (copy ? "copied" : "linked");
    std::vector<std::string> words{"data", "convert", config, "--to", "yolo", "--out", out.string()};
    if (copy) words.emplace_back("--copy");
    printed_by(words);
    EXPECT_NE(fs::is_symlink(fs::directory_iterator(out / "images/train")->path()), copy);
  }
  const auto shown = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words{"data",    "show", config,  "--out",        (run.folder() / name).string(),
                                   "--count", "2",    "--set", "train.size=64"};
    words.insert(words.end(), more.begin(), more.end());
    printed_by(words);
    return read_file(run.folder() / name / "sheet.jpg");
  };
  const auto drawn = [&](const std::string& name, SampleOptions options) {
    options.folder = run.folder() / name;
    options.count = 2;
    draw_samples({.config = config, .settings = {"train.size=64"}}, options);
    return read_file(run.folder() / name / "sheet.jpg");
  };
  EXPECT_EQ(shown("a", {"--seed", "5"}), drawn("b", {.seed = 5}));
  EXPECT_NE(shown("c", {"--seed", "6"}), drawn("b", {.seed = 5}));
  EXPECT_EQ(shown("d", {"--plain"}), drawn("e", {.plain = true}));
  EXPECT_EQ(shown("f", {"--split", "val"}), drawn("g", {.split = "val"}));
  EXPECT_NE(shown("h", {}), drawn("e", {.plain = true}));
}

TEST(OptionsOf, SplitAreThoseOfTheDivision) {
  const brightnet::testing::SmallRun run(12, 4);
  const std::string config = run.config().string();
  const brightnet::testing::Logged quiet;
  for (const bool exact : {false, true}) {
    const fs::path ours = run.folder() / (exact ? "exact" : "similar");
    std::vector<std::string> words{"data",     "split",         config,   "--out", ours.string(),
                                   "--ratios", "0.5,0.25,0.25", "--seed", "7"};
    if (exact) words.emplace_back("--exact");
    printed_by(words);
    const DividedData theirs = divide_data(
        {.config = config},
        {.folder = ours.string() + "-theirs", .ratios = {0.5, 0.25, 0.25}, .seed = 7, .similar = !exact});
    const std::string how = read_lines(ours / "run.yaml").front().text;
    EXPECT_EQ(how, read_lines(theirs.config).front().text);
    EXPECT_EQ(how.ends_with(" --seed 7 --exact"), exact) << how;
  }
}

TEST(OptionsOf, ShardAreMegabytesOfAnArchive) {
  const brightnet::testing::SmallRun run(6, 2);
  const std::string config = run.config().string();
  const brightnet::testing::Logged quiet;
  const auto archives_in = [&](const char* name) {
    std::vector<std::string> archives;
    for (const auto& [file, bytes] : files_below(run.folder() / name)) {
      if (file.ends_with(".tar")) archives.push_back(file);
    }
    return archives;
  };
  printed_by({"data", "shard", config, "--out", (run.folder() / "ours").string(), "--size-mb", "1"});
  shard_data({.config = config}, run.folder() / "theirs", 1'000'000);
  shard_data({.config = config}, run.folder() / "small", 1'000);
  EXPECT_EQ(archives_in("ours"), archives_in("theirs"));
  EXPECT_EQ(archives_in("ours"), (std::vector<std::string>{"train/000000.tar", "val/000000.tar"}));
  EXPECT_GT(archives_in("small").size(), 2u);
}

TEST(OptionsOf, ExportOfAnotherFormatAreRefused) {
  const brightnet::testing::SmallRun run(2, 2);
  const std::string weights = brightnet::testing::write_small_weights(run).string();
  const auto refusal = [&](const char* format, std::vector<std::string> more) -> std::string {
    more.insert(more.begin(), {"export", "--weights", weights, "--format", format, "--out",
                               (run.folder() / "other").string()});
    try {
      printed_by(more);
    } catch (const InputError& error) {
      ::testing::internal::GetCapturedStdout();
      return error.what();
    }
    return "accepted";
  };
  const auto expect_refused = [&](const char* format, const std::vector<std::string>& more,
                                  const std::string& words) {
    const brightnet::testing::Logged quiet;
    const std::string said = refusal(format, more);
    EXPECT_NE(said.find(words), std::string::npos) << format << ' ' << more[0] << ": " << said;
    for (const auto& entry : fs::directory_iterator(run.folder()))
      EXPECT_NE(entry.path().stem(), "other") << "nothing is written: " << format << ' ' << more[0];
  };
  for (const char* format : {"darknet", "safetensors"}) {
    expect_refused(format, {"--size", "96"}, "--size is for --format onnx only");
    expect_refused(format, {"--heads", "raw", "--opset", "15"},
                   "--heads and --opset are for --format onnx only");
    expect_refused(format, {"--conf", "0.5"}, "--conf is for --format onnx only");
  }
  for (const char* format : {"onnx", "safetensors"})
    expect_refused(format, {"--numbers", "kept"}, "--numbers is for --format darknet only");
}

TEST(OptionsOf, ExportThatConvertersMakeAreAnsweredByTheirSectionOfTheDocumentation) {
  const auto refusal = [](const std::string& format) -> std::string {
    try {
      printed_by({"export", "--weights", "w", "--format", format});
    } catch (const CLI::ValidationError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string page = read_file(brightnet::testing::source_dir() / "docs/deploy.md");
  for (const auto& [format, heading] :
       {std::pair("openvino", "OpenVINO"), {"ncnn", "ncnn"}, {"tflite", "TFLite"}, {"engine", "TensorRT"}}) {
    const std::string said = refusal(format);
    EXPECT_TRUE(said.ends_with("--format onnx, then docs/deploy.md#" + lower_case(heading))) << said;
    EXPECT_NE(page.find(std::string("\n## ") + heading + '\n'), std::string::npos) << heading;
  }
  EXPECT_NE(refusal("paddle").find("onnx,safetensors,darknet"), std::string::npos) << refusal("paddle");
}

TEST(OptionsOf, MemoryAreThoseOfThePlan) {
  const brightnet::testing::SmallRun run(2, 2);
  const std::string model = (run.folder() / "model.yaml").string();
  EXPECT_EQ(printed_by({"memory", model, "--batch", "3", "--size", "32x96", "--classes", "7", "--device",
                        "cpu", "--precision", "bf16", "--device-memory", "1GiB", "--set", "input.channels=1",
                        "--json", "-"}),
            plan_memory({.run = {.config = model, .settings = {"input.channels=1"}, .precision = "bf16"},
                         .device = "cpu",
                         .batch = 3,
                         .classes = 7,
                         .height = 32,
                         .width = 96,
                         .device_memory = "1GiB"})
                .json);
  set_log_sink({});
}

// TensorRT takes no other zero point than that of signed 8 bits.
TEST(OptionsOf, ExportInInt8AreThoseOfTheQuantisation) {
  const brightnet::testing::SmallRun run(6, 2);
  const std::string weights = brightnet::testing::write_small_weights(run).string();
  const auto exported = [&](const std::vector<std::string>& more) {
    const fs::path file = run.folder() / "int8.safetensors";
    std::vector<std::string> words{"export",
                                   "--weights",
                                   weights,
                                   "--format",
                                   "safetensors",
                                   "--int8",
                                   "--data",
                                   run.config().string(),
                                   "--calibration-images",
                                   "3",
                                   "--out",
                                   file.string(),
                                   "--force"};
    words.insert(words.end(), more.begin(), more.end());
    printed_by(words);
    return load_trained_model(file).model.quantization;
  };
  const auto made = [&](bool symmetric) {
    const brightnet::testing::Logged quiet;
    return quantize(Weights::open(weights),
                    {.data = run.config().string(), .images = 3, .symmetric = symmetric})
        .weights.trained()
        .model.quantization;
  };
  const Quantization symmetric = exported({"--symmetric"});
  EXPECT_EQ(symmetric, made(true));
  EXPECT_EQ(exported({}), made(false));
  size_t ranges = 0;
  for (const LayerQuantization& layer : symmetric) {
    if (!layer.output) continue;
    ++ranges;
    EXPECT_EQ(layer.output->zero_point, 128);
  }
  EXPECT_GT(ranges, 0u);
}

TEST(OptionsOf, BenchTrafficAreThoseOfTheCount) {
  const brightnet::testing::SmallRun run(2, 2);
  const std::string model = (run.folder() / "model.yaml").string();
  BenchmarkOptions options{.model = model,
                           .precision = "bf16",
                           .batch = 3,
                           .height = 32,
                           .width = 96,
                           .classes = 7,
                           .card = "1.5,200"};
  std::string counted;
  try {
    counted = count_step(options).json;
  } catch (const DeviceError&) {
    GTEST_SKIP() << "this build has no CUDA";
  }
  EXPECT_EQ(printed_by({"bench", model, "--traffic", "--precision", "bf16", "--batch", "3", "--size", "32x96",
                        "--classes", "7", "--card", "1.5,200", "--json", "-"}),
            counted);
  options.card = "h200";
  EXPECT_NE(count_step(options).json, counted);
}

}  // namespace
}  // namespace brightnet::cli
