#include "train/config/config.h"

#include <fstream>

#include <gtest/gtest.h>

#include "data/formats/recognize.h"
#include "tests/paths.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class RunConfigFile : public ::testing::Test {
 protected:
  RunConfigFile()
      : folder_(fs::path(::testing::TempDir()) /
                ("config_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "models");
    fs::create_directories(folder_ / "pictures");
    write("models/m.yaml", "layers: []\n");
  }
  ~RunConfigFile() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  std::string failure(const std::string& text, const std::vector<std::string>& assignments = {}) {
    try {
      load_run_config(write("run.yaml", text), assignments);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(RunConfigFile, FindsPathsBesideTheYamlAndNamesTheRunAfterIt) {
  const RunConfig config =
      load_run_config(write("cells.yaml", "model: models/m.yaml\ndata: {root: pictures, train: .}\n"));
  EXPECT_EQ(config.name, "cells");
  EXPECT_EQ(config.model, (folder_ / "models/m.yaml").lexically_normal().string());
  EXPECT_EQ(config.data.root, (folder_ / "pictures").lexically_normal().string());
}

TEST_F(RunConfigFile, PathsAsWindowsWritesThemAreFound) {
  write("models/run.yaml", "model: .\\m.yaml\ndata: {root: ..\\pictures, train: .}\n");
  const RunConfig config = load_run_config(folder_ / "models/run.yaml");
  EXPECT_EQ(config.model, (folder_ / "models/m.yaml").lexically_normal().string());
  EXPECT_EQ(config.data.root, (folder_ / "pictures").lexically_normal().string());
  fs::create_directories(folder_ / "a\\b");
  fs::create_directories(folder_ / "a/b");
  EXPECT_EQ(
      load_run_config(write("run.yaml", "model: models/m.yaml\ndata: {root: a\\b, train: .}\n")).data.root,
      (folder_ / "a\\b").lexically_normal().string())
      << "as it is written, where that is there";
}

TEST_F(RunConfigFile, ASpecificationOfTaoIsCalledThat) {
  for (const char* text : {"random_seed: 42\nyolov4_config {\n  box_matching_iou: 0.25\n}\n",
                           "dataset_config:\n  data_sources: []\n"}) {
    const std::string said = failure(text);
    EXPECT_NE(said.find("specification of NVIDIA TAO"), std::string::npos) << said;
    EXPECT_NE(said.find("docs/migrate.md"), std::string::npos) << said;
  }
}

TEST_F(RunConfigFile, ADataSetOfTheCommandLineWinsOverTheFilesAndGivesWayToAssignments) {
  const fs::path file = write(
      "cells.yaml",
      "data: {format: voc, root: nowhere, train: a, val: b, test: c, classes: [x], fold: 1/2, tiles: {size: "
      "64, overlap: 0.3}}\ntrain: {batch: 4}\n");
  Overrides overrides{"data.val=mine", "data.tiles.overlap=0.1"};
  overrides.data = DataOptions();
  overrides.data->root = (folder_ / "pictures").string();
  overrides.data->train = "images";
  overrides.data->val = "others";
  overrides.data->classes = {"no", "1"};
  RunConfig config = load_run_config(file, overrides);
  EXPECT_EQ(config.data.format->name, "yolo");
  EXPECT_EQ(config.data.root, (folder_ / "pictures").lexically_normal().string());
  EXPECT_EQ(config.data.train, "images");
  EXPECT_EQ(config.data.val, "mine");
  EXPECT_EQ(config.data.test, "") << "the file's is of another data set";
  EXPECT_EQ(config.data.classes, (std::vector<std::string>{"no", "1"}));
  EXPECT_EQ(config.data.fold, (Fold{1, 2})) << "it says nothing of it";
  EXPECT_EQ(config.data.tiles.size, 64);
  EXPECT_EQ(config.data.tiles.overlap, 0.1f);
  EXPECT_EQ(config.where("data.train"), "--data");
  EXPECT_EQ(config.where("data.val"), "--set");
  EXPECT_EQ(config.where("data.fold"), file.string() + ":1");
  EXPECT_EQ(config.name, "cells-fold1");

  overrides.data->tiles.size = 128;
  overrides.fold = {1, 10};
  config = load_run_config(file, overrides);
  EXPECT_EQ(config.data.tiles.size, 128);
  EXPECT_EQ(config.data.tiles.overlap, 0.1f);
  EXPECT_EQ(config.data.fold, (Fold{1, 10}));
  EXPECT_EQ(config.name, "cells") << "nobody asked for a fold";

  overrides.data->root = "is/nowhere";
  try {
    load_run_config(file, overrides);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(std::string(e.what()).find("--data: 'data.root' names 'is/nowhere', which does not exist"), 0u)
        << e.what();
  }
}

TEST_F(RunConfigFile, AFolderAloneIsRecognizedAsOnTheCommandLine) {
  for (const char* split : {"train", "val"}) {
    fs::create_directories(folder_ / "mine/images" / split);
    fs::create_directories(folder_ / "mine/labels" / split);
    write(std::string("mine/images/") + split + "/a.jpg", "");
    write(std::string("mine/labels/") + split + "/a.txt", "0 0.5 0.5 0.2 0.2\n");
  }
  const DataOptions recognized = recognize_data((folder_ / "mine").string()).options;
  ASSERT_EQ(recognized.train, "images/train");
  const auto load = [&](const std::string& data, const std::vector<std::string>& assignments = {}) {
    return load_run_config(write("run.yaml", "data: " + data + '\n'), assignments).data;
  };
  const DataOptions alone = load("{root: mine}");
  EXPECT_EQ(alone.format, recognized.format);
  EXPECT_EQ(alone.root, recognized.root);
  EXPECT_EQ(alone.train + ' ' + alone.val, "images/train images/val");
  // What the section says beside it stays.
  const DataOptions more =
      load("{root: mine, classes: [bolt], tiles: {size: 64}, fold: 1/3}", {"data.fold=2/3"});
  EXPECT_EQ(more.classes, std::vector<std::string>{"bolt"});
  EXPECT_EQ(more.tiles.size, 64);
  EXPECT_EQ(more.fold, (Fold{2, 3}));
  EXPECT_EQ(more.train, "images/train");
  // One that says how it is laid out is not looked into.
  EXPECT_EQ(load("{root: mine, format: voc}").train, "");
  EXPECT_EQ(load("{root: mine, val: images/val}").train, "");
  EXPECT_EQ(load("{root: mine}", {"data.train=images/val"}).val, "");
  // The folder's own YAML may be the run's, or one that leaves it to the folder in turn.
  write("mine/data.yaml", "model: m\ndata: {root: .}\n");
  EXPECT_EQ(load("{root: mine}").train, "images/train");
  EXPECT_EQ(recognize_data((folder_ / "mine/data.yaml").string()).options.train, "images/train");
  write("mine/data.yaml", "train: images/val\nval: images/train\nnames: [nut]\n");
  EXPECT_EQ(load("{root: mine}").train, "images/val");
  EXPECT_EQ(load("{root: mine}").names, std::vector<std::string>{"nut"});
  EXPECT_EQ(load("{root: mine, classes: [bolt]}").classes, std::vector<std::string>{"bolt"});
}

TEST_F(RunConfigFile, AFolderAloneThatIsNotRecognizedIsRefusedAsOnTheCommandLine) {
  const std::string folder = (folder_ / "pictures").string();
  try {
    recognize_data(folder);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(failure("data: {root: pictures}\n"), error.what());
  }
}

TEST_F(RunConfigFile, AFoldIsARunOfItsOwnUnlessItHasAName) {
  const fs::path file = write("cells.yaml", "data: {fold: 2/5}\n");
  const RunConfig config = load_run_config(file, {}, false);
  EXPECT_EQ(config.data.fold, (Fold{2, 5}));
  EXPECT_EQ(config.name, "cells-fold2");
  EXPECT_EQ(load_run_config(file, {"--fold:data.fold=3/5"}, false).name, "cells-fold3");
  EXPECT_EQ(load_run_config(file, {"name=mine"}, false).name, "mine");
  EXPECT_EQ(load_run_config(file, {"data.fold=\"\""}, false).name, "cells");
  try {
    load_run_config(file, {"--fold:data.fold=6/5"}, false);
    FAIL() << "nothing was thrown";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("--fold"), std::string::npos) << e.what();
  }
}

TEST_F(RunConfigFile, TakesPathsOfTheCommandLineFromTheCurrentDirectoryFirst) {
  const fs::path here = fs::current_path();
  const fs::path other = folder_ / "other";
  fs::create_directories(other / "pictures");
  const fs::path file = write("run.yaml", "model: models/m.yaml\ndata: {root: pictures, train: .}\n");
  fs::current_path(other);
  const RunConfig from_file = load_run_config(file);
  const RunConfig from_command = load_run_config(file, {"data.root=pictures"});
  fs::current_path(here);
  EXPECT_EQ(from_file.data.root, (folder_ / "pictures").lexically_normal().string());
  EXPECT_EQ(from_command.data.root, (other / "pictures").lexically_normal().string());
}

TEST_F(RunConfigFile, StartsDataPathsWhereTheYamlLiesWhenItNamesNoRoot) {
  const RunConfig config = load_run_config(write("run.yaml", "model: models/m.yaml\n"));
  EXPECT_TRUE(fs::equivalent(config.data.root, folder_)) << config.data.root;
}

TEST_F(RunConfigFile, SaysBothPlacesWhereAMissingFileWasLookedFor) {
  const std::string message = failure("name: a\nmodel: models/none.yaml\n");
  EXPECT_NE(message.find("run.yaml:2"), std::string::npos) << message;
  EXPECT_NE(message.find("models/none.yaml"), std::string::npos) << message;
  EXPECT_NE(message.find(fs::current_path().string()), std::string::npos) << message;
}

TEST_F(RunConfigFile, MayBePrintedBeforeItsDataAreThere) {
  const fs::path file = write("run.yaml", "data: {root: later}\n");
  EXPECT_THROW(load_run_config(file), InputError);
  EXPECT_EQ(load_run_config(file, {}, false).data.root, (folder_ / "later").lexically_normal().string());
}

TEST_F(RunConfigFile, RefusesWhatDoesNotFitTogether) {
  for (const char* words : {"run.yaml:3", "Set it to 8, or to auto"})
    EXPECT_NE(failure("train:\n  batch: 64\n  micro_batch: 24\n").find(words), std::string::npos) << words;
  EXPECT_NE(failure("train: {micro_batch: some}\n").find("auto"), std::string::npos);
  EXPECT_NE(failure("schedule: {steps: [10, 5]}\n").find("ascending"), std::string::npos);
  EXPECT_NE(failure("schedule: {steps: [5, 10], scales: [0.1]}\n").find("one factor"), std::string::npos);
  EXPECT_NE(failure("name: a/b\n").find("not a path"), std::string::npos);
  EXPECT_NE(failure("train: {epochs: 0}\n").find("at least 1"), std::string::npos);
}

TEST_F(RunConfigFile, RefusesNumbersOutOfTheirRangeAndTakesThoseAtItsEnds) {
  const fs::path file = write("run.yaml", "model: models/m.yaml\n");
  const auto refusal = [&](const std::string& assignment) {
    try {
      load_run_config(file, {assignment});
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  struct Range {
    const char* key;
    std::vector<const char*> refused, taken;
  };
  const std::vector<Range> ranges{{"train.size", {"0", "-32"}, {"32"}},
                                  {"train.batch", {"0", "-1"}, {"1"}},
                                  {"train.micro_batch", {"-1"}, {"1"}},
                                  {"train.size_every", {"0", "-1"}, {"1"}},
                                  {"train.grow", {"-0.1", "0.95"}, {"0", "0.9"}},
                                  {"train.static_assignment", {"-0.1", "1.1"}, {"0", "1"}},
                                  {"train.memory_fraction", {"-0.1", "1.1"}, {"0", "1"}},
                                  {"train.average", {"-1", "21"}, {"0", "20"}},
                                  {"train.distill", {"-1"}, {"0"}},
                                  {"train.distill_features", {"-1"}, {"0"}},
                                  {"train.pretrained_warmup", {"-0.1", "1.1"}, {"0", "1"}},
                                  {"train.save_epochs", {"-1"}, {"0"}},
                                  {"input.channels", {"-1", "4"}, {"1", "3"}},
                                  {"evaluate.smooth", {"0", "101"}, {"1", "100"}},
                                  {"train.epochs", {"0", "-1"}, {"1"}},
                                  {"train.iterations", {"-1"}, {"0", "1"}},
                                  {"train.minutes", {"-0.5"}, {"0", "0.5"}},
                                  {"train.patience", {"-1"}, {"0"}},
                                  {"train.pretrained_rate", {"0", "-0.1"}, {"0.1"}},
                                  {"train.save_every", {"-1"}, {"0"}},
                                  {"train.log_every", {"0", "-1"}, {"0.5"}},
                                  {"train.bucket_mb", {"0", "-1"}, {"0.5"}},
                                  {"train.comm_timeout", {"2", "-3"}, {"3"}},
                                  {"train.restarts", {"-1"}, {"0", "3"}},
                                  {"optimizer.rate", {"0", "-0.001"}, {"0.001"}},
                                  {"optimizer.momentum", {"-0.1", "1.1"}, {"0", "0.9"}},
                                  {"optimizer.decay", {"-0.0005"}, {"0", "0.0005"}},
                                  {"optimizer.beta1", {"-0.1", "1", "1.1"}, {"0", "0.9"}},
                                  {"optimizer.beta2", {"-0.1", "1", "1.1"}, {"0", "0.9999"}},
                                  {"optimizer.loss_scale", {"-1", "1e-39", "1e31"}, {"0", "0.0001", "65536"}},
                                  {"optimizer.epsilon", {"0", "-1e-8"}, {"1e-8"}},
                                  {"optimizer.clip", {"-1"}, {"0"}},
                                  {"optimizer.max_skips", {"0"}, {"1"}},
                                  {"optimizer.loss_scale", {"-1"}, {"0"}},
                                  {"optimizer.loss_scale_growth", {"0"}, {"1"}},
                                  {"schedule.warmup", {"-1"}, {"0"}},
                                  {"schedule.power", {"-1"}, {"0"}},
                                  {"schedule.final", {"-0.1", "1.1"}, {"0", "1"}},
                                  {"ema.decay", {"-0.1", "1"}, {"0", "0.9999"}},
                                  {"ema.ramp", {"-1"}, {"0"}},
                                  {"evaluate.every", {"0"}, {"1"}},
                                  {"evaluate.start", {"0"}, {"1"}},
                                  {"evaluate.batch", {"-1"}, {"0"}},
                                  {"evaluate.size", {"-32"}, {"0"}}};
  for (const Range& range : ranges) {
    const std::string key = range.key;
    for (const std::string value : range.refused) {
      const std::string words = refusal(key + "=" + value);
      EXPECT_NE(words.find(key.substr(key.find('.') + 1)), std::string::npos) << key << " = " << value;
    }
    for (const std::string value : range.taken)
      EXPECT_EQ(refusal(key + "=" + value), "") << key << " = " << value;
  }
}

TEST_F(RunConfigFile, AnEmptyFileIsCalledEmpty) {
  EXPECT_NE(failure("").find("run.yaml: this file is empty"), std::string::npos) << failure("");
  EXPECT_NE(failure("# nothing yet\n").find("empty"), std::string::npos);
}

TEST_F(RunConfigFile, SaysWhereAValueCameFrom) {
  const fs::path file = write("run.yaml", "name: a\ntrain:\n  size: 96\n");
  const RunConfig config = load_run_config(file, {"train.epochs=2", "--precision:train.precision=bf16"});
  EXPECT_EQ(config.where("train.size"), file.string() + ":3");
  EXPECT_EQ(config.where("train.epochs"), "--set");
  EXPECT_EQ(config.where("train.precision"), "--precision");
  EXPECT_EQ(config.where("evaluate.size"), file.string());
}

TEST_F(RunConfigFile, AnInputThatDoesNotFitTheModelIsRefusedWithTheNearestThatDoes) {
  write("models/m.yaml",
        "head: {anchors: [[8, 8]]}\nlayers:\n  - conv: {filters: 8, stride: 32}\n  - conv: {filters: auto}\n"
        "  - yolo: {mask: [0]}\n");
  const auto refusal = [&](const std::string& text, const std::vector<std::string>& assignments = {}) {
    const RunConfig config = load_run_config(write("run.yaml", "model: models/m.yaml\n" + text), assignments);
    try {
      load_model(config, 1);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string message = refusal("train:\n  size: 100\n");
  for (const char* word : {"run.yaml:3", "'train.size' is 100", "multiple of 32", "96 and 128"})
    EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is not in: " << message;
  EXPECT_NE(refusal("train: {sizes: [64, 100]}\n").find("'train.sizes' is 100"), std::string::npos);
  EXPECT_NE(refusal("evaluate: {size: 50}\n").find("32 and 64"), std::string::npos);
  EXPECT_NE(refusal("", {"train.size=40"}).find("--set: 'train.size'"), std::string::npos);
  EXPECT_EQ(refusal("train: {size: 128}\n"), "");
}

TEST_F(RunConfigFile, NamesTheNearestKeyForAnUnknownOne) {
  const std::string message = failure("train:\n  epoch: 5\n");
  EXPECT_NE(message.find("run.yaml:2"), std::string::npos) << message;
  EXPECT_NE(message.find("'epochs'"), std::string::npos) << message;
  EXPECT_NE(failure("", {"optimiser.rate=1"}).find("'optimizer'"), std::string::npos);
}

TEST_F(RunConfigFile, PrintsItselfSoThatReadingItBackGivesTheSame) {
  const fs::path file = write("run.yaml",
                              "model: models/m.yaml\nhead: {box_weight: 0.07, iou_loss: giou}\n"
                              "data: {classes: [\"no\", \"1\", tree]}\n"
                              "train: {micro_batch: 8, sizes: [320, 416]}\nschedule: {steps: [3, 4.5]}\n");
  const RunConfig first = load_run_config(file, {"head.class_weight=0.3", "optimizer.rate=0.02"});
  const RunConfig again = load_run_config(write("again.yaml", print_config(first)));
  EXPECT_EQ(print_config(again), print_config(first));
  EXPECT_TRUE(compare(first, again).empty());
  EXPECT_EQ(again.train.micro_batch, 8);
  EXPECT_EQ(again.data.classes, (std::vector<std::string>{"no", "1", "tree"}));
  EXPECT_EQ(again.head.class_weight, 0.3f);
}

TEST_F(RunConfigFile, EachOptimizerHasDefaultsOfItsOwn) {
  const fs::path plain = write("plain.yaml", "model: models/m.yaml\n");
  EXPECT_EQ(load_run_config(plain).optimizer.kind, OptimizerKind::adamw);
  EXPECT_FALSE(load_run_config(plain).optimizer.rate.has_value()) << "chosen with the run";
  const RunConfig sgd = load_run_config(plain, {"optimizer.kind=sgd", "optimizer.decay=0.001"});
  EXPECT_EQ(sgd.optimizer.rate, 0.01f);
  EXPECT_EQ(sgd.optimizer.decay, 0.001f);
  const RunConfig lion = load_run_config(plain, {"optimizer.kind=lion", "optimizer.beta1=0.95"});
  EXPECT_EQ(lion.optimizer.rate, 0.0002f);
  EXPECT_EQ(lion.optimizer.decay, 0.5f);
  EXPECT_EQ(lion.optimizer.beta1, 0.95f);
  EXPECT_EQ(lion.optimizer.beta2, 0.99f);
  EXPECT_EQ(load_run_config(plain).optimizer.beta2, 0.999f);
}

TEST(ShippedConfigurations, AreRunsAsTheyStand) {
  const fs::path configs = testing::source_dir() / "configs";
  const RunConfig bccd = load_run_config(configs / "bccd.yaml", {}, false);
  EXPECT_EQ(bccd.name, "bccd");
  EXPECT_EQ(fs::path(bccd.model).filename(), "yolov4-tiny.yaml");
  EXPECT_EQ(bccd.data.format->name, "voc");
  EXPECT_EQ(bccd.data.train, "ImageSets/Main/train.txt");
  EXPECT_EQ(bccd.data.val, "ImageSets/Main/val.txt");
  EXPECT_EQ(bccd.data.classes, (std::vector<std::string>{"RBC", "WBC", "Platelets"}));
  EXPECT_FALSE(bccd.train.epochs.has_value()) << "all else is chosen";
  const RunConfig demo = load_run_config(configs / "demo.yaml", {}, false);
  EXPECT_EQ(fs::path(demo.model).filename(), "demo.yaml");
  EXPECT_EQ(demo.train.size, 160);
  EXPECT_EQ(demo.train.epochs, 60);
  EXPECT_EQ(demo.data.train, "images/train");
  EXPECT_EQ(demo.data.val, "images/val");
  for (const RunConfig& config : {bccd, demo}) {
    EXPECT_EQ(load_model(config, static_cast<int>(config.data.classes.size())).classes,
              std::ssize(config.data.classes));
  }
}

TEST_F(RunConfigFile, NamesEveryDifferenceBetweenTwoRuns) {
  const fs::path file = write("run.yaml", "model: models/m.yaml\nhead: {box_weight: 1}\n");
  const auto differences =
      compare(load_run_config(file), load_run_config(file, {"train.batch=32", "head.box_weight=2"}));
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].key, "head.box_weight");
  EXPECT_EQ(differences[1].key, "train.batch");
  EXPECT_EQ(differences[1].before, "auto");
  EXPECT_EQ(differences[1].after, "32");
}

TEST_F(RunConfigFile, KeepsWhichClassesAreChosen) {
  const fs::path file =
      write("run.yaml", "model: models/m.yaml\ndata: {train: pictures, map: {lorry: truck}}\n");
  const RunConfig chosen =
      load_run_config(file, {"data.map.van=car", "data.map.tram=", "data.single_class=true"});
  const RunConfig again = load_run_config(write("again.yaml", print_config(chosen)));
  EXPECT_EQ(again.data.map,
            (std::map<std::string, std::string>{{"lorry", "truck"}, {"tram", ""}, {"van", "car"}}));
  EXPECT_TRUE(again.data.single_class);
  const auto differences = compare(load_run_config(file), again);
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[1].key, "data.map.van");
  EXPECT_NE(failure("data: {mapp: {van: car}}\n").find("map"), std::string::npos);
  // With --data what the data set says wins, and what is chosen of it stays.
  Overrides overrides({"data.classes=[van]"});
  overrides.data.emplace();
  overrides.data->root = folder_.string();
  overrides.data->train = "pictures";
  overrides.data->names = {"car", "van"};
  const RunConfig named = load_run_config(write("old.yaml",
                                                "model: models/m.yaml\ndata: {classes: [a], names: [a], "
                                                "map: {x: y}}\n"),
                                          overrides);
  EXPECT_EQ(named.data.names, (std::vector<std::string>{"car", "van"}));
  EXPECT_EQ(named.data.classes, std::vector<std::string>{"van"});
  EXPECT_EQ(named.data.map.size(), 1u);
}

TEST(RunConfig, ListsEveryInputSizeOnce) {
  RunConfig config;
  config.train.size = 416;
  EXPECT_EQ(config.input_sizes(), (std::vector<InputSize>{416}));
  config.train.sizes = {416, 320, 416};
  EXPECT_EQ(config.input_sizes(), (std::vector<InputSize>{320, 416}));
}

}  // namespace
}  // namespace brightnet
