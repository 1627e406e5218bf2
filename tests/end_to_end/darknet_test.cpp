// A darknet project, as it lies there, through the program: trained in one command, imported, and refused
// with a line.
#include "formats/darknet/import.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "tests/end_to_end/program.h"
#include "tests/formats/small_cfg.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// small.cfg with as many steps as a test has time for, obj.data, and what that names.
class DarknetProject : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string cfg = with(with(small_cfg, "max_batches = 2000", "max_batches = 2"), "random=1", "random=0");
    write("small.cfg", with(cfg, "steps=1600,1800", "steps=1,2"));
    write("obj.data",
          "classes= 3\ntrain = train.txt\nvalid = data/images/val\nnames = obj.names\nbackup = backup/\n");
    write("obj.names", "circle\nsquare\nstar\n");
    std::string list;
    for (const auto& entry : fs::directory_iterator(run_.folder() / "data/images/train"))
      list += "data/images/train/" + entry.path().filename().string() + '\n';
    write("train.txt", list);
  }
  void write(const std::string& name, const std::string& text) {
    write_atomically(run_.folder() / name, text);
  }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }

  SmallRun run_{8, 2};
};

TEST_F(DarknetProject, TrainsInOneCommandWithTheClassesOfItsData) {
  const ProgramResult result = run({"train", "small.cfg", "--data", "obj.data", "--out", "run"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("written for 2 classes and the data set has 3"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(run_.folder() / "run/weights/last.safetensors"));
  const ProgramResult eval =
      run({"eval", "small.cfg", "--data", "obj.data", "--weights", "run/weights/last.safetensors"});
  EXPECT_EQ(eval.code, 0) << eval.err;
}

TEST_F(DarknetProject, IsMeasuredAndUsedByItsOwnFiles) {
  ASSERT_EQ(run({"train", "small.cfg", "--data", "obj.data", "--out", "run"}).code, 0);
  const ProgramResult exported = run(
      {"export", "--weights", "run/weights/last.safetensors", "--format", "darknet", "--out", "back/small"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const auto metrics = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", "--json", "-", "--data", "obj.data"});
    const ProgramResult result = run(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  const std::string measured = metrics({"back/small.cfg", "--weights", "back/small.weights"});
  EXPECT_EQ(metrics({"small.cfg", "--weights", "back/small.weights", "--cfg", "back/small.cfg"}), measured);
  const ProgramResult detected =
      run({"detect", "--weights", "back/small.weights", "--cfg", "back/small.cfg", "--names", "obj.data",
           "--source", "data/images/val", "--conf", "0.001", "--json", "a.json"});
  ASSERT_EQ(detected.code, 0) << detected.err;
  EXPECT_NE(read_file(run_.folder() / "a.json").find("\"star\""), std::string::npos);
}

TEST_F(DarknetProject, ItsHeadsFollowTheClassesOfWeightsAndData) {
  const ProgramResult trained = run({"train", "small.cfg", "--data", "obj.data", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("\niteration 2/2  loss"), std::string::npos) << trained.err;
  EXPECT_NE(trained.out.find("Best weights (iteration "), std::string::npos) << trained.err;
  ASSERT_EQ(run({"export", "--weights", "run/weights/last.safetensors", "--format", "darknet", "--out",
                 "back/small"})
                .code,
            0);
  // small.cfg is written for two classes; these weights and data have three.
  const ProgramResult eval =
      run({"eval", "small.cfg", "--data", "obj.data", "--weights", "back/small.weights"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_NE(eval.out.find("star"), std::string::npos) << eval.out;
  for (const char* option : {"--data", "--names"}) {
    const ProgramResult detected =
        run({"detect", "--weights", "back/small.weights", "--cfg", "small.cfg", option, "obj.data",
             "--source", "data/images/val", "--conf", "0.0001", "--json", "a.json"});
    ASSERT_EQ(detected.code, 0) << detected.err;
    EXPECT_NE(read_file(run_.folder() / "a.json").find("\"star\""), std::string::npos);
  }
  const ProgramResult both =
      run({"detect", "--weights", "back/small.weights", "--cfg", "small.cfg", "--data", "obj.data", "--names",
           "obj.names", "--source", "data/images/val", "--no-save"});
  EXPECT_EQ(both.code, 2) << both.out;
  EXPECT_NE(both.err.find("--names and --data both name the classes"), std::string::npos) << both.err;
  write("obj.names", "circle\nsquare\n");
  write("obj.data", "classes= 2\ntrain = train.txt\nvalid = data/images/val\nnames = obj.names\n");
  const ProgramResult refused =
      run({"eval", "small.cfg", "--data", "obj.data", "--weights", "back/small.weights"});
  EXPECT_EQ(refused.code, 2);
  for (const char* words : {"has classes=2", "the length of a network with 3", "the data set has 2 classes"})
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
}

TEST_F(DarknetProject, EpochsOnTheCommandLineReplaceItsMaxBatches) {
  const ProgramResult trained =
      run({"train", "small.cfg", "--data", "obj.data", "--out", "run", "--epochs", "3", "--size", "32"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("\nepoch 3/3  loss"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("input 32x32"), std::string::npos) << trained.err;
}

TEST_F(DarknetProject, ItsDataAreExaminedByTheirObjData) {
  const std::string checked = run({"data", "check", "--data", "obj.data"}).out;
  EXPECT_NE(checked.find("star"), std::string::npos) << "obj.names has it, and no label: " << checked;
  EXPECT_NE(run({"data", "stats", "--data", "obj.data"}).out.find("8 images"), std::string::npos);
  EXPECT_EQ(run({"data", "anchors", "small.cfg", "--data", "obj.data"}).code, 0);
  EXPECT_EQ(run({"data", "convert", "--data", "obj.data", "--to", "yolo", "--out", "converted"}).code, 0);
  EXPECT_TRUE(fs::exists(run_.folder() / "converted/data.yaml"));
}

TEST_F(DarknetProject, IsImportedAsAModelAndARecipe) {
  const ProgramResult result = run({"import", "--cfg", "small.cfg", "--out", "mine.yaml"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Model model = load_model(run_.folder() / "mine.yaml", 0);
  EXPECT_TRUE(same_layers(model.layers, import_darknet(run_.folder() / "small.cfg").model.layers));
  EXPECT_EQ(load_run_config(run_.folder() / "mine-train.yaml", {}, false).train.iterations, 2);
  EXPECT_EQ(run({"import", "--cfg", "small.cfg", "--out", "mine.yaml"}).code, 2) << "it would overwrite";
  EXPECT_EQ(run({"memory", "small.cfg", "--batch", "2"}).code, 0);
  EXPECT_EQ(run({"config", "small.cfg"}).code, 0);
}

TEST_F(DarknetProject, ItsCutWeightsAreRefusedWithOptionsThatTheCommandHas) {
  std::string cut(60, '\0');  // darknet's header of version 0.2.5, and ten numbers
  cut[4] = 2;
  cut[8] = 5;
  write("cut.weights", cut);
  const auto refused = [&](const std::vector<std::string>& words) {
    const ProgramResult result = run(words);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find("it ends inside the 1st of"), std::string::npos) << result.err;
    return result.err;
  };
  const auto names_partial = [](const std::string& error) {
    return error.find("--weights-partial") != std::string::npos;
  };
  EXPECT_FALSE(names_partial(
      refused({"detect", "--weights", "cut.weights", "--cfg", "small.cfg", "--source", "data/images/val"})));
  EXPECT_TRUE(names_partial(
      refused({"train", "small.cfg", "--data", "obj.data", "--weights", "cut.weights", "--out", "run"})));
  EXPECT_TRUE(names_partial(
      refused({"import", "--cfg", "small.cfg", "--weights", "cut.weights", "--out", "mine.yaml"})));
}

TEST_F(DarknetProject, ItsWeightsInFp16AreNotSaidToBeIdenticalToDarknets) {
  ASSERT_EQ(run({"train", "small.cfg", "--data", "obj.data", "--out", "run"}).code, 0);
  const auto exported = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "export");
    const ProgramResult result = run(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out + result.err;
  };
  exported({"--weights", "run/weights/last.safetensors", "--format", "safetensors", "--half", "--out",
            "half.safetensors"});
  const std::string said = exported(
      {"--weights", "half.safetensors", "--format", "darknet", "--numbers", "kept", "--out", "back/small"});
  EXPECT_EQ(said.find("bit-identical"), std::string::npos) << said;
  EXPECT_NE(said.find("The numbers are those of the weights given, unchanged"), std::string::npos) << said;
}

TEST_F(DarknetProject, IsRefusedWithSectionAndLine) {
  write("small.cfg", with(small_cfg, "[sam]", "[crnn]"));
  const ProgramResult result = run({"train", "small.cfg", "--data", "obj.data"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("small.cfg:93: [crnn]"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace brightnet::testing
