// What a user gets to see when something is wrong: one paragraph that names the place and the remedy, and the
// documented exit code.
#include <fstream>

#include "tests/end_to_end/program.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Errors : public ::testing::Test {
 protected:
  ProgramResult train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = with_settings({"train", "run.yaml"}, SmallRun::short_run());
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
  for (const std::string& name : {std::string(300, 'a') + ".yaml", std::string(300, 'a') + ".data"})
    expect(run_program({"train", name}, run_.folder()), 2, {name, "cannot be read"});
  fs::create_symlink("loop.yaml", run_.folder() / "loop.yaml");
  expect(run_program({"train", "loop.yaml"}, run_.folder()), 2, {"loop.yaml", "cannot be read"});
  expect(run_program({"train"}, run_.folder()), 2, {"configuration"});
  expect(run_program({"train", "model.yaml"}, run_.folder()), 2,
         {"model.yaml", "describes a model, not a run", "--model model.yaml --data"});
  std::ofstream(run_.folder() / "obj.data") << "classes = 2\ntrain = train.txt\n";
  expect(run_program({"train", "obj.data"}, run_.folder()), 2,
         {"obj.data", "a data set, not a run", "train X.cfg --data obj.data"});
}

TEST_F(Errors, NamesThatAreTooLong) {
  const std::string name(300, 'a');
  expect(train({"--out", name}), 2, {name, "File name too long"});
  expect(
      run_program(with_settings({"tune", "run.yaml", "--trials", "1", "--out", name}, SmallRun::short_run()),
                  run_.folder()),
      2, {name, "File name too long"});
  expect(run_program({"tune", "--resume", name}, run_.folder()), 2, {name, "no search to resume"});
  expect(run_program({"data", "synth", name}, run_.folder()), 2, {name, "File name too long"});
}

TEST_F(Errors, MissingModel) {
  expect(train({"--set", "model=models/none.yaml"}), 2, {"--set", "models/none.yaml", "does not exist"});
}

TEST_F(Errors, MissingData) {
  expect(train({"--set", "data.root=/nowhere"}), 2, {"data.root", "/nowhere"});
  expect(train({"--set", "data.train=images/none"}), 2, {"data.train names", "images/none"});
  // Also when the other split would have to be read first.
  expect(train({"--set", "data.val=images/none"}), 2, {"data.val names", "images/none"});
  expect(run_program({"train", "data"}, run_.folder()), 2, {"data", "is a folder", "--data"});
}

TEST_F(Errors, EmptyDataset) {
  fs::create_directories(run_.folder() / "data/images/empty");
  expect(train({"--set", "data.train=images/empty"}), 2, {"empty"});
}

TEST_F(Errors, SizeThatDoesNotFitTheModel) {
  expect(train({"--set", "train.size=100"}), 2, {"--set", "'train.size'", "100", "multiple of", "96"});
}

TEST_F(Errors, DeviceThatIsNotThere) {
  expect(train({"--device", "cuda:99"}), 3, {"cuda:99"});
  expect(train({"--device", "cuda:x"}), 2, {"cuda:x", "cuda:0"});
  expect(train({"--device", "cpuu"}), 2, {"cpuu", "'cpu'"});
  expect(run_program({"train", "run.yaml", "--precision", "fp16"}, run_.folder()), 3, {"fp16", "bf16"});
  expect(run_program({"train", "run.yaml", "--precision", "fp8"}, run_.folder()), 2,
         {"--precision: ", "fp8"});
  expect(train({"--weights", "none.safetensors"}), 2, {"--weights: ", "none.safetensors"});
}

TEST_F(Errors, CommandLine) {
  expect(run_program({}, run_.folder()), 2, {"--help"});
  expect(run_program({"trian"}, run_.folder()), 2, {"'trian'", "'train'"});
  expect(run_program({"eval", "run.yaml", "--weight", "x"}, run_.folder()), 2, {"'--weights'"});
  expect(run_program({"eval", "run.yaml"}, run_.folder()), 2, {"--weights"});
  expect(run_program(
             {"eval", "run.yaml", "--weights", "x", "--precision", "fp32", "--set", "train.precision=bf16"},
             run_.folder()),
         2, {"--precision", "--set train.precision=bf16 contradict each other"});
  expect(run_program({"memory", "model.yaml", "--batch", "many"}, run_.folder()), 2, {"--batch"});
  EXPECT_EQ(run_program({"--help"}, run_.folder()).code, 0);
  EXPECT_EQ(run_program({"train", "--help"}, run_.folder()).code, 0);
  const ProgramResult version = run_program({"--version"}, run_.folder());
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.rfind("brightnet ", 0), 0u) << version.out;
}

TEST_F(Errors, AnOptionIsNotTakenForTheValueOfAnother) {
  const auto of = [&](const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  };
  expect(of({"data", "stats", "run.yaml", "--json", "--split"}), 2, {"--json needs a value", "'--split'"});
  EXPECT_FALSE(fs::exists(run_.folder() / "--split"));
  expect(of({"train", "--model", "--data", "epochs=3"}), 2, {"--model needs a value", "'--data'"});
  expect(of({"data", "stats", "run.yaml", "--json=--split"}), 0, {});
  EXPECT_TRUE(fs::exists(run_.folder() / "--split"));
  expect(of({"memory", "model.yaml", "--batch", "-1"}), 2, {"'-1' must be a number"});
}

TEST_F(Errors, AnUnknownWordIsNamedWithWhatItMayMean) {
  const auto of = [&](const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  };
  expect(of({"train", "run.yaml", "--bathc", "8"}), 2, {"'--bathc'", "'--batch'"});
  expect(of({"train", "run.yaml", "--patienze", "8"}), 2, {"'--patienze'", "--set train.patience"});
  expect(of({"-x"}), 2, {"'-x'"});
  expect(of({"data", "chekc", "run.yaml"}), 2, {"'data chekc'", "'check'"});
  expect(of({"config", "run.yaml", "again.yaml"}), 2, {"'again.yaml'", "unexpected argument"});
  expect(of({"config", "run.yaml", "--device", "cuda:7"}), 2, {"'--device'"});
}

// -height was -h: the help, with 0.
TEST_F(Errors, AWordOfDarknetsIsNotTakenForTheHelp) {
  const auto expect_answer = [&](const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& words) {
    const ProgramResult result = run_program(arguments, run_.folder());
    expect(result, 2, words);
    EXPECT_EQ(result.out, "");
  };
  expect_answer({"train", "run.yaml", "-height", "608"},
                {"no option '-height'", "brightnet says --size HxW"});
  expect_answer({"data", "anchors", "--data", "data", "-width", "608", "-height", "608"},
                {"'-height'", "--size HxW"});
  expect_answer({"data", "anchors", "--data", "data", "-num_of_clusters", "9"},
                {"'-num_of_clusters'", "--count"});
  expect_answer({"detector", "calc_anchors", "obj.data", "-height", "608"}, {"no command 'detector'"});
  expect_answer({"train", "-help"}, {"'-help'", "Did you mean '--help'?"});
}

// Whoever writes the key that is offered gets further.
TEST_F(Errors, AKeyThatIsOfferedIsOneThatSetTakes) {
  const std::string offer = "Did you mean '--set ";
  int offers = 0, keys = 0;
  for (const std::vector<std::string>& command : {std::vector<std::string>{"train", "run.yaml"},
                                                  {"train", "--model", "model.yaml", "--data", "data"},
                                                  {"tune", "run.yaml"},
                                                  {"eval", "run.yaml", "--weights", "w"},
                                                  {"config", "run.yaml"},
                                                  {"bench", "model.yaml"},
                                                  {"bench", "--data", "run.yaml"},
                                                  {"memory", "model.yaml"},
                                                  {"memory", "model.yaml", "--data", "data"},
                                                  {"data", "check", "run.yaml"}}) {
    for (const std::string option : {"--weightz", "--patiense", "--cache_mbb", "--sizez"}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {option, "3"});
      const ProgramResult result = run_program(arguments, run_.folder());
      expect(result, 2, {"there is no option '" + option + "'"});
      ++offers;
      const size_t at = result.err.find(offer);
      if (at == std::string::npos) continue;
      ++keys;
      const size_t begin = at + offer.size();
      arguments.resize(command.size());
      arguments.insert(arguments.end(),
                       {"--set", result.err.substr(begin, result.err.find('=', begin) - begin) + "=[[]]"});
      const std::string refusal = run_program(arguments, run_.folder()).err;
      EXPECT_EQ(refusal.find("unknown key"), std::string::npos) << command[0] << ' ' << option << refusal;
      EXPECT_EQ(refusal.find("has no effect"), std::string::npos) << command[0] << ' ' << option << refusal;
    }
  }
  EXPECT_GT(keys, 8);
  EXPECT_LT(keys, offers);
  expect(run_program({"bench", "--weights", "best.safetensors"}, run_.folder()), 2,
         {"'--weights'", "brightnet says bench WEIGHTS --inference"});
}

TEST_F(Errors, ALineOfUltralyticsIsAnsweredByOneOfOurs) {
  const auto of = [&](const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  };
  expect(of({"train", "data=data", "model=demo", "lr0=0.01", "exist_ok=True"}), 2,
         {"brightnet train --data data --model demo --set optimizer.rate=0.01\n"});
  expect(of({"train", "data=data", "plots=True", "epochs=3"}), 2,
         {"brightnet train --data data --epochs 3. It has no option for plots=True"});
}

TEST_F(Errors, ANumberThatAnOptionCannotHaveIsAnsweredInWords) {
  const auto of = [&](const std::vector<std::string>& arguments) {
    const ProgramResult result = run_program(arguments, run_.folder());
    EXPECT_LT(result.err.size(), 200u) << result.err;
    return result;
  };
  expect(of({"memory", "model.yaml", "--batch", "0"}), 2, {"--batch", "'0'", "at least 1"});
  expect(of({"memory", "model.yaml", "--size", "100000"}), 2, {"--size", "from 1 to 8192"});
  expect(of({"bench", "model.yaml", "--seconds", "0"}), 2, {"--seconds", "above 0"});
  expect(of({"detect", "--weights", "w", "--source", "s", "--conf", "nan"}), 2,
         {"--conf", "'nan'", "from 0 to 1"});
}

TEST_F(Errors, OptionsThatWouldDoNothingAreRefused) {
  const auto detect = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"detect", "--weights", "w", "--source", "data/images/val"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, run_.folder());
  };
  expect(detect({"--save-conf"}), 2, {"--save-conf", "--txt"});
  expect(detect({"--out", "found", "--no-save"}), 2, {"--out", "--no-save"});
  expect(detect({"--coco-ids", "ids.json"}), 2, {"--coco-ids", "--coco-json"});
  expect(detect({"--frames", "2"}), 2, {"--frames", "videos", "data/images/val"});
  expect(detect({"--every", "3"}), 2, {"--every", "videos", "data/images/val"});
  expect(detect({"--rect", "--tiles", "32"}), 2, {"--rect excludes --tiles"});
  const auto eval = [&](const std::string& assignment) {
    return run_program({"eval", "run.yaml", "--weights", "w", "--set", assignment}, run_.folder());
  };
  expect(eval("model=other.yaml"), 2, {"--set", "'model'"});
  expect(eval("train.size=64"), 2, {"'train.size'", "--size"});
}

TEST_F(Errors, OptionsOfAnotherWayAreRefused) {
  const auto expect_refused = [&](const std::vector<std::string>& arguments, const std::string& option,
                                  const std::string& other) {
    expect(run_program(arguments, run_.folder()), 2, {option, other});
  };
  expect_refused({"tune", "run.yaml", "--find-rate", "--trials", "3"}, "--find-rate", "--trials");
  expect_refused({"tune", "run.yaml", "--find-rate", "--jobs", "2"}, "--find-rate", "--jobs");
  expect_refused({"tune", "run.yaml", "--trials", "2", "--steps", "30"}, "--steps", "--find-rate");
  expect_refused({"models", "--names", "--json", "models.json"}, "--names", "--json");
  expect_refused({"bench", "model.yaml", "--workers", "2"}, "--workers", "--data");
  expect_refused({"export", "--describe", "w.onnx", "--weights", "w"}, "--describe", "--weights");
}

TEST_F(Errors, AnAnswerThatMayNotBeWrittenIsRefusedBeforeTheWork) {
  std::ofstream(run_.folder() / "mine.txt") << "mine";
  for (const std::string command : {"check", "stats", "anchors"}) {
    const ProgramResult result =
        run_program({"data", command, "run.yaml", "--json", "mine.txt"}, run_.folder());
    expect(result, 2, {"mine.txt", "already exists"});
    EXPECT_EQ(result.out, "") << command;
  }
  EXPECT_EQ(read_file(run_.folder() / "mine.txt"), "mine");
}

TEST_F(Errors, WhatTheWeightsCannotBeUsedForIsSaid) {
  write_small_weights(run_);
  const auto detect = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"detect", "--weights", "weights.safetensors", "--source",
                                       "data/images/val"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, run_.folder());
  };
  expect(detect({"--rect", "--letterbox", "off"}), 2, {"--rect", "rectangular batches need a letterbox"});
  expect(detect({"--cfg", "model.yaml"}), 2, {"weights.safetensors", "are for darknet's .weights"});
  std::ofstream(run_.folder() / "data/other.yaml")
      << "train: images/train\nval: images/val\nnames: [ring, box]\n";
  expect(detect({"--data", "data/other.yaml"}), 2,
         {"weights.safetensors", "trained for the classes circle, square, and the data set has ring, box"});
  const auto eval = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"eval", "run.yaml", "--weights", "weights.safetensors", "--no-plots"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, run_.folder());
  };
  expect(eval({"--rect", "--set", "data.tiles.size=32"}), 2, {"--rect", "tiles are all of one shape"});
  std::ofstream(run_.folder() / "weights.onnx") << "mine";
  expect(run_program({"export", "--weights", "weights.safetensors", "--format", "onnx"}, run_.folder()), 2,
         {"weights.onnx", "a file of this name already exists", "--force"});
  EXPECT_EQ(read_file(run_.folder() / "weights.onnx"), "mine");
}

TEST_F(Errors, ANumberOfRanksThatIsNoneIsRefused) {
  for (const std::string word : {"0", "2x", "-1"}) {
    expect(run_program({"train", "run.yaml", "--ranks", word}, run_.folder()), 2,
           {"--ranks", "'" + word + "' is not a valid number of processes"});
  }
}

TEST_F(Errors, AnAnswerThatDoesNotArriveIsNoSuccess) {
  const auto shell = [&](const std::string& tail) {
    return Program("sh", {"-c", program().string() + " config run.yaml " + tail}, run_.folder()).wait();
  };
  expect(shell("> /dev/full"), 2, {"standard output"});
  expect(shell(">&-"), 2, {"standard output"});
  EXPECT_EQ(shell("2>&-").code, 0);
}

TEST_F(Errors, MessagesNeverLandInAFileThatIsWritten) {
  fs::copy(run_.folder() / "data/images/val", run_.folder() / "pictures");
  std::ofstream(run_.folder() / "pictures/broken.jpg") << "x";
  write_small_weights(run_);
  const std::string command =
      program().string() + " detect --weights weights.safetensors --source pictures --json found.json 2>&-";
  ASSERT_EQ(Program("sh", {"-c", command}, run_.folder()).wait().code, 0);
  const std::string found = read_file(run_.folder() / "found.json");
  EXPECT_EQ(found.find("Skipped"), std::string::npos) << found;
  EXPECT_EQ(found.front(), '[');
}

TEST_F(Errors, AnAnswersPlaceIsCheckedBeforeTheWork) {
  const auto of = [&](const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  };
  const std::string config = read_file(run_.folder() / "run.yaml");
  expect(of({"memory", "model.yaml", "--json", "run.yaml"}), 2, {"run.yaml", "--json"});
  expect(of({"eval", "run.yaml", "--weights", "none", "--json", "run.yaml"}), 2,
         {"run.yaml: a file of this name already exists"});
  expect(of({"bench", "model.yaml", "--json", "run.yaml/a.json"}), 2, {"--json"});
  EXPECT_EQ(read_file(run_.folder() / "run.yaml"), config);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(of({"memory", "model.yaml", "--batch", "1", "--json", "plans/memory.json"}).code, 0);
}

TEST_F(Errors, ExportNeverReplacesTheWeightsItReads) {
  write_small_weights(run_);
  const std::string weights = read_file(run_.folder() / "weights.safetensors");
  expect(run_program({"export", "--weights", "weights.safetensors", "--format", "onnx", "--out",
                      "./weights.safetensors", "--force"},
                     run_.folder()),
         2, {"input file would be overwritten"});
  EXPECT_EQ(read_file(run_.folder() / "weights.safetensors"), weights);
}

TEST_F(Errors, WeightsThatAreNone) {
  std::ofstream(run_.folder() / "cut.safetensors") << "abc";
  expect(
      run_program({"detect", "--weights", "cut.safetensors", "--source", "data/images/val"}, run_.folder()),
      2, {"cut.safetensors", "safetensors"});
  expect(
      run_program({"detect", "--weights", "none.safetensors", "--source", "data/images/val"}, run_.folder()),
      2, {"none.safetensors", "No such file"});
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
