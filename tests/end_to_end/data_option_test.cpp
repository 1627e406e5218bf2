// Saying what to train by --model and --data alone, for every command that takes them.
#include <nlohmann/json.hpp>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class DataOption : public ::testing::Test {
 protected:
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }
  /// A training of one epoch by options alone.
  ProgramResult train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"train", "--model", "model.yaml", "--epochs", "1", "--size", "64",
                                         "--batch", "4", "--precision", "fp32"});
    return run(with_settings(arguments, {"train.micro_batch=2", "evaluate.every=1", "loader.workers=1"}));
  }
  void expect_done(const ProgramResult& result, const std::string& part) {
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(says(result.out + result.err, part)) << part << " is not in: " << result.out << result.err;
  }
  void expect_refused(const ProgramResult& result, const std::string& part) {
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_TRUE(says(result.err, part)) << part << " is not in: " << result.err;
  }
  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  SmallRun run_;  // 12 training and 4 validation images
};

const char* const recognized =
    "Data: brightnet's data.yaml in a folder, data: train images/train, val images/val, 2 classes";

TEST_F(DataOption, TrainsEvaluatesAndResumesWithoutAYamlOfOurs) {
  const ProgramResult trained = train({"--data", "data", "--out", "run"});
  expect_done(trained, recognized);
  EXPECT_TRUE(says(trained.err, "12 training and 4 validation images; batches of 4, in 2 passes of 2"))
      << trained.err;
  EXPECT_TRUE(says(trained.err, "input 64x64")) << trained.err;
  const std::string config = read_file(run_.folder() / "run/config.yaml");
  for (const char* line :
       {"epochs: 1 ", "size: 64 ", "batch: 4 ", "classes: [circle, square]", "train: images/train"})
    EXPECT_TRUE(says(config, line)) << line << " is not in: " << config;

  const auto metrics = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "eval");
    arguments.insert(arguments.end(), {"--weights", "run/weights/last.safetensors", "--json", "-"});
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(metrics({"run/config.yaml", "--precision", "fp32"}),
            metrics({"--data", "data", "--precision", "fp32"}));
  expect_done(train({"--data", "data", "--resume", "--out", "run"}),
              "This run is finished: all its 1 epochs");
}

TEST_F(DataOption, ASizeReplacesTheSizesInTheFileButNotThoseThatAreSet) {
  run_.write_config("train: {sizes: [96, 128]}\n");
  const auto sizes_of = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "run.yaml", "--size", "64", "--epochs", "1", "--out", out});
    const ProgramResult result = run(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return YAML::LoadFile((run_.folder() / out / "config.yaml").string())["train"]["sizes"];
  };
  EXPECT_EQ(sizes_of("plain", {"--set", "train.grow=0"}).size(), 0u);
  EXPECT_EQ(sizes_of("set", {"--set", "train.sizes=[32, 64]"}).as<std::vector<int>>(),
            (std::vector<int>{32, 64}));
}

TEST_F(DataOption, TheRunIsNamedAfterTheData) {
  fs::rename(run_.folder() / "data", run_.folder() / "my bolts");
  write_atomically(run_.folder() / "my bolts/data.yaml",
                   std::string("train: images/train\nval: images/val\nnames: [circle, square]\n"));
  expect_done(train({"--data", "my bolts/data.yaml"}), "Data: an Ultralytics data.yaml, my bolts/data.yaml");
  EXPECT_TRUE(fs::exists(run_.folder() / "runs/my bolts/config.yaml"));
  expect_done(train({"--data", "my bolts", "--fold", "1/4"}), "Fold 1/4");
  EXPECT_TRUE(fs::exists(run_.folder() / "runs/my bolts-fold1/config.yaml"));
}

TEST_F(DataOption, ADataSetWithoutValidationImagesIsDivided) {
  fs::remove_all(run_.folder() / "data/images/val");
  fs::rename(run_.folder() / "data/images/train", run_.folder() / "pictures");
  fs::rename(run_.folder() / "pictures", run_.folder() / "data/images/all");
  fs::rename(run_.folder() / "data/labels/train", run_.folder() / "data/labels/all");
  fs::remove(run_.folder() / "data/data.yaml");
  write_atomically(run_.folder() / "data/classes.txt", std::string("circle\nsquare\n"));
  const ProgramResult trained = train({"--data", "data", "--fold", "1/3"});
  expect_done(trained, "Data: a folder of images with YOLO labels, data: train images\n");
  EXPECT_FALSE(says(trained.err, "names no validation images"));
  const ProgramResult config = run({"config", "--model", "model.yaml", "--data", "data"});
  expect_done(config, "fold: 1/10");
  EXPECT_FALSE(says(config.out, "-fold1")) << config.out;
  // Other commands see all of it.
  expect_done(run({"data", "stats", "--data", "data"}), "12 images");
}

TEST_F(DataOption, ValidationImagesThatASettingNamesAreNotTrainedOn) {
  write_atomically(run_.folder() / "data/images/train/classes.txt", std::string("circle\nsquare\n"));
  const std::string val = (run_.folder() / "data/images/val").string();
  for (const std::string& setting : {"data.val=" + val, "data={val: " + val + "}"}) {
    const ProgramResult config =
        run({"config", "--model", "model.yaml", "--data", "data/images/train", "--set", setting});
    expect_done(config, "fold: \"\"");
    EXPECT_TRUE(says(config.out, "val: " + val)) << config.out;
  }
}

TEST_F(DataOption, ValidationImagesAloneAreAllEvaluated) {
  write_small_weights(run_);
  const auto evaluated = [&](const std::string& data) {
    const ProgramResult result = run({"eval", "--weights", "weights.safetensors", "--data", data, "--size",
                                      "64", "--batch", "4", "--no-plots", "--json", "-"});
    EXPECT_EQ(result.code, 0) << data << ": " << result.err;
    return std::pair(result.code == 0 ? Json::parse(result.out)["images"].get<int>() : -1, result.err);
  };
  expect_done(run({"data", "convert", "data", "--to", "coco", "--out", "coco", "--copy"}), "");
  for (const char* place : {"held", "mine/valid"}) {
    for (const char* part : {"images", "labels"}) {
      fs::create_directories(run_.folder() / place / part);
      fs::copy(run_.folder() / "data" / part / "val", run_.folder() / place / part / "val");
    }
    write_atomically(run_.folder() / place / "classes.txt", std::string("circle\nsquare\n"));
  }
  write_atomically(run_.folder() / "val.yaml",
                   std::string("path: data\nval: images/val\nnames: [circle, square]\n"));
  fs::create_directories(run_.folder() / "alone");
  for (const auto& entry : fs::recursive_directory_iterator(run_.folder() / "coco")) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && (name.find("train") == std::string::npos || !name.ends_with(".json"))) {
      const fs::path to = run_.folder() / "alone" / fs::relative(entry.path(), run_.folder() / "coco");
      fs::create_directories(to.parent_path());
      fs::copy(entry.path(), to);
    }
  }
  std::string json_file;
  for (const auto& entry : fs::recursive_directory_iterator(run_.folder() / "alone")) {
    if (entry.path().extension() == ".json") json_file = entry.path().string();
  }
  for (const std::string& data :
       {std::string("held"), std::string("mine/valid"), std::string("val.yaml"), json_file})
    EXPECT_EQ(evaluated(data).first, 4) << data;
  // Of images that may have been trained on, those that a training sets aside, which is said.
  fs::rename(run_.folder() / "held/images/val", run_.folder() / "held/images/all");
  fs::rename(run_.folder() / "held/labels/val", run_.folder() / "held/labels/all");
  const auto [images, said] = evaluated("held");
  EXPECT_LT(images, 4);
  EXPECT_TRUE(says(said, "name them twice as the data (--data): held,held")) << said;
  EXPECT_EQ(evaluated("held,held").first, 4);
  write_atomically(run_.folder() / "only.yaml", std::string("model: model.yaml\ndata: {root: held}\n"));
  const std::string held = (run_.folder() / "held").string();
  expect_done(run({"eval", "only.yaml", "--weights", "weights.safetensors", "--size", "64", "--no-plots"}),
              "name them twice as the data (--data): " + held + ',' + held);
  EXPECT_EQ(evaluated(held + ',' + held).first, 4);
  expect_refused(train({"--data", "val.yaml"}), "train");
}

TEST_F(DataOption, AYamlThatSaysOnlyTheFolderIsAnsweredAsTheOptionIs) {
  write_atomically(run_.folder() / "only.yaml", std::string("model: model.yaml\ndata: {root: data}\n"));
  expect_done(run({"config", "only.yaml"}), "train: images/train");
  expect_done(run({"data", "check", "only.yaml"}), recognized);
  fs::remove_all(run_.folder() / "data/images/val");
  fs::rename(run_.folder() / "data/images/train", run_.folder() / "data/images/all");
  fs::rename(run_.folder() / "data/labels/train", run_.folder() / "data/labels/all");
  fs::remove(run_.folder() / "data/data.yaml");
  write_atomically(run_.folder() / "data/classes.txt", std::string("circle\nsquare\n"));
  // Divided for a command that validates, as with --data, unless it is divided otherwise.
  expect_done(run({"config", "only.yaml"}), "fold: 1/10");
  expect_done(run({"config", "only.yaml", "--fold", "1/3"}), "fold: 1/3");
  expect_done(run({"config", "only.yaml", "--set", "data.fold=2/3"}), "fold: 2/3");
  EXPECT_FALSE(says(run({"data", "stats", "only.yaml"}).err, "validates"));
  // The folder of --set stands in place of the file's.
  fs::rename(run_.folder() / "data", run_.folder() / "elsewhere");
  expect_done(run({"config", "only.yaml", "--set", "data.root=elsewhere"}), "fold: 1/10");
  fs::create_directories(run_.folder() / "empty");
  for (const char* command : {"train", "config"}) {
    expect_refused(run({command, "only.yaml", "--set", "data.root=empty"}),
                   "empty: no data set was recognized in this folder. Looked for: an Ultralytics data.yaml");
  }
}

TEST_F(DataOption, EveryCommandTakesTheSame) {
  write_small_weights(run_);
  const std::vector<std::string> data{"--data", "data"};
  const auto with_data = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), data.begin(), data.end());
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << arguments[0] << ' ' << arguments[1] << ": " << result.err;
    EXPECT_TRUE(says(result.err, recognized)) << arguments[0] << ' ' << arguments[1] << ": " << result.err;
    return result.out;
  };
  EXPECT_TRUE(says(with_data({"data", "check"}), "No problems found."));
  EXPECT_TRUE(says(with_data({"data", "stats"}), "12 images"));
  EXPECT_FALSE(with_data({"data", "anchors", "--model", "model.yaml", "--size", "64"}).empty());
  EXPECT_TRUE(says(with_data({"data", "anchors", "--size", "50", "--count", "3"}), "anchors"));
  EXPECT_TRUE(says(with_data({"data", "anchors"}), "anchors"));
  with_data({"data", "show", "--count", "2", "--out", "shown"});
  EXPECT_TRUE(fs::exists(run_.folder() / "shown/sheet.jpg"));
  with_data({"data", "convert", "--to", "coco", "--out", "coco"});
  expect_done(run({"data", "stats", "coco"}),
              "Data: a folder with COCO JSON, coco: train annotations/instances_train");
  with_data({"data", "convert", "--to", "yolo", "--out", "yolo"});
  expect_done(run({"data", "stats", "yolo"}), "Data: an Ultralytics data.yaml in a folder, yolo");
  with_data({"data", "split", "--out", "parts", "--exact"});
  expect_done(run({"data", "stats", "parts"}), "Data: the data of a run's YAML in a folder, parts");
  EXPECT_TRUE(says(with_data({"eval", "--weights", "weights.safetensors"}), "circle"));
  EXPECT_TRUE(says(with_data({"memory", "model.yaml", "--batch", "2"}), "peak"));
  EXPECT_TRUE(says(with_data({"bench", "--seconds", "0.01", "--size", "64"}), "loader, 1 workers"));
  with_data({"tune", "--model", "model.yaml", "--trials", "1", "--epochs", "1", "--out", "search", "--set",
             "train.size=64", "--set", "train.batch=4", "--set", "train.precision=fp32"});
  EXPECT_TRUE(says(read_file(run_.folder() / "search/config.yaml"), "train: images/train"));
  expect_done(run({"config", "search/config.yaml"}), "root: " + (run_.folder() / "data").string());
}

TEST_F(DataOption, DataInAConfigurationsPlaceAreTakenOrExplained) {
  expect_done(run({"data", "check", "data/data.yaml"}), "Data: brightnet's data.yaml, data/data.yaml");
  expect_refused(run({"train", "data/data.yaml"}), "this YAML describes a data set, not a run");
  expect_refused(run({"train", "data/data.yaml"}), "--model yolov4-tiny --data data/data.yaml");
  expect_refused(run({"train", "--data", "data"}), "There are demo, yolov4, yolov4-tiny, yolov4-tiny-3l");
  expect_refused(run({"train", "--model", "model.yaml"}),
                 "data.train is not set. Name the data set with --data");
  expect_refused(run({"train"}), "brightnet train --model yolov4-tiny --data DATA");
  expect_refused(run({"data", "check"}), "no configuration was given");
  fs::create_directories(run_.folder() / "empty");
  expect_refused(run({"train", "--model", "model.yaml", "--data", "empty"}),
                 "empty: no data set was recognized in this folder. Looked for: an Ultralytics data.yaml");
}

class ModelByName : public DataOption {};

TEST_F(ModelByName, IsFoundFromAnyFolder) {
  expect_done(run({"config", "--model", "yolov4-tiny", "--data", "data"}), "models/yolov4-tiny.yaml");
  expect_done(run({"memory", "demo", "--batch", "1"}), "Training, batch 1 at 160x160");
  write_atomically(run_.folder() / "named.yaml",
                   std::string("model: demo\ndata: {root: data, train: images/train, val: images/val}\n"));
  expect_done(run({"config", "named.yaml"}), "models/demo.yaml");
  // A path stays a path.
  expect_done(run({"config", "--model", "./model.yaml", "--data", "data"}),
              (run_.folder() / "model.yaml").string());
}

TEST_F(ModelByName, AnUnknownNameListsWhatThereIs) {
  const ProgramResult result = run({"train", "--model", "yolov4-tny", "--data", "data"});
  expect_refused(result,
                 "--model: there is no model 'yolov4-tny'. Did you mean 'yolov4-tiny'? There are demo, ");
  write_atomically(run_.folder() / "named.yaml", std::string("model: yolov5\n"));
  expect_refused(run({"config", "named.yaml"}), "named.yaml:1: there is no model 'yolov5'");
}

TEST_F(ModelByName, TheListHasSizesAndPublishedWeights) {
  const ProgramResult listed = run({"models", "--json", "-"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  std::map<std::string, Json> models;
  const Json answer = Json::parse(listed.out);
  for (const Json& model : answer["models"]) models[model["name"]] = model;
  // darknet's own count of these networks, "Total BFLOPS", has the other layers in it as well.
  EXPECT_NEAR(models["yolov4-tiny"]["gflop"], 6.91, 0.01);
  EXPECT_NEAR(models["yolov4"]["gflop"], 128.46, 0.1);
  EXPECT_NEAR(models["yolov4-tiny"]["parameters"], 6.06e6, 0.01e6);
  EXPECT_EQ(models["yolov4"]["weights"][1]["file"], "yolov4.conv.137");
  EXPECT_TRUE(models["demo"]["weights"].empty());
  expect_done(run({"models"}), "releases/download/darknet_yolo_v4_pre/yolov4-tiny.conv.29");
  EXPECT_EQ(run({"models", "--names"}).out, "demo\nyolov4\nyolov4-tiny\nyolov4-tiny-3l\n");
}

}  // namespace
}  // namespace brightnet::testing
