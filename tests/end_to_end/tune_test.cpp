// brightnet tune as a user has it: a real search of a few trials, its continuation, and the rate finder.
#include <chrono>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"
#include "tune/tuned_keys.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Tunes : public ::testing::Test {
 protected:
  static std::vector<std::string> tune(const std::vector<std::string>& more,
                                       const std::vector<std::string>& settings = {"train.epochs=1"}) {
    std::vector<std::string> arguments{"tune"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return with_settings(arguments, SmallRun::short_run(settings));
  }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }
  std::string file(const std::string& name) { return read_file(run_.folder() / name); }
  bool exists(const std::string& name) { return fs::exists(run_.folder() / name); }

  SmallRun run_;
};

const std::vector<std::string> three_trials{
    "run.yaml", "--trials", "3", "--epochs", "1", "--keys", "optimizer.rate,augment.jitter,head.box_weight"};

TEST_F(Tunes, SearchesStopsGoesOnAndLeavesAConfigurationThatTrains) {
  auto two = three_trials;
  two[2] = "2";
  const ProgramResult begun = run(tune(two));
  ASSERT_EQ(begun.code, 0) << begun.err;
  EXPECT_TRUE(exists("runs/run-tune/trials/0001/metrics.csv"));
  EXPECT_TRUE(exists("runs/run-tune/tune.png"));
  EXPECT_FALSE(exists(".cache/brightnet/runs.txt")) << "its trials are no runs that --resume looks for";

  auto three = three_trials;
  three.insert(three.end(), {"--json", "tune.json"});
  const ProgramResult ended = run(tune(three));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err.find("Trial 1 ("), std::string::npos) << "it has a result: " << ended.err;
  EXPECT_NE(ended.err.find("Trial 2 (3 of 3)"), std::string::npos) << ended.err;
  const Json result = Json::parse(file("tune.json"));
  ASSERT_EQ(result["trials"].size(), 3u);
  const std::string page = read_file(source_dir() / "docs/json.md");
  for (const auto& json : {result, result["trials"][0]}) {
    for (const auto& [key, value] : json.items())
      EXPECT_NE(page.find('`' + key + '`'), std::string::npos) << key;
  }
  EXPECT_EQ(result["trials"][0]["values"]["optimizer.rate"], 0.02);
  EXPECT_EQ(result["trials"][0]["values"]["head.box_weight"],
            YAML::Load(file("runs/run-tune/trials/0000/config.yaml"))["head"]["box_weight"].as<double>());
  EXPECT_NE(result["trials"][1]["values"], result["trials"][0]["values"]);

  // Another search is not mixed in.
  auto other = three_trials;
  other.insert(other.end(), {"--seed", "5"});
  const ProgramResult refused = run(tune(other));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("another search"), std::string::npos) << refused.err;

  const ProgramResult resumed = run({"tune", "--resume", "runs/run-tune"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  if (result["best"] >= 0) {
    const ProgramResult trained = run({"train", "runs/run-tune/config.yaml", "--out", "best"});
    EXPECT_EQ(trained.code, 0) << trained.err;
  }
}

TEST_F(Tunes, GoOnInAnotherFolderWithTheirModelAndWeights) {
  // Not beside the configuration, where they would be found from everywhere.
  const fs::path here = run_.folder() / "here", elsewhere = run_.folder() / "elsewhere";
  for (const fs::path& folder : {here, elsewhere}) fs::create_directories(folder);
  fs::copy_file(run_.folder() / "model.yaml", here / "net.yaml");
  fs::rename(write_small_weights(run_), here / "first.safetensors");
  const ProgramResult begun =
      run_program(tune({"../run.yaml", "--model", "net.yaml", "--weights", "first.safetensors", "--trials",
                        "1", "--epochs", "1", "--keys", "optimizer.rate"}),
                  here);
  ASSERT_EQ(begun.code, 0) << begun.err;
  const fs::path search = here / "runs/run-tune";
  const ProgramResult resumed =
      run_program({"tune", "--resume", search.string(), "--trials", "2"}, elsewhere);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(fs::exists(search / "trials/0001/metrics.csv"));
}

TEST_F(Tunes, SayHowToGoOnAfterASignal) {
  const Program program(tune({"run.yaml", "--trials", "3", "--keys", "optimizer.rate", "--device", "cpu"},
                             {"train.epochs=4000"}),
                        run_.folder());
  const fs::path log = run_.folder() / "runs/run-tune/trials/0000/train.log";
  for (int i = 0; i < 3000 && !(fs::exists(log) && read_file(log).find("epoch 2/") != std::string::npos); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  program.signal(SIGINT);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.code, 4) << stopped.err;
  EXPECT_NE(stopped.err.find("brightnet tune --resume runs/run-tune --device cpu"), std::string::npos)
      << stopped.err;
  EXPECT_NE(read_file(log).find("Stopped by a signal"), std::string::npos) << "the trial was asked to stop";
}

TEST_F(Tunes, RefuseWhatIsWrongBeforeAnythingBegins) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& words) {
    const ProgramResult result = run(tune(arguments));
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_FALSE(exists("runs"));
  };
  refused({"run.yaml", "--keys", "optimizer.rates"}, "Did you mean 'optimizer.rate'");
  refused({}, "no configuration");
  refused({"none.yaml"}, "none.yaml");
  refused({"run.yaml", "--size", "96"}, "--size (train.size=96) and --set train.size=64 contradict");
  refused({"run.yaml", "--set", "train.batches=3"}, "Did you mean 'batch'");
  refused({"run.yaml", "--keys", "train.batch"}, "train.micro_batch");
  refused({"run.yaml", "--keys", "head.iou_threshold"}, "head.iou_threshold has no effect");
  refused({"run.yaml", "--minutes", "1", "--epochs", "1"}, "--epochs");
  refused({"run.yaml", "--resume", "search"}, "a search that is resumed keeps its own configuration");
  refused({"--resume", "search", "--set", "train.batch=2"}, "keeps its own configuration");
  refused({"run.yaml", "--jobs", "1000", "--device", "cpu"}, "threads cannot be shared by 1000 trials");
  const auto refused_alone = [&](const std::string& size, const std::string& words) {
    const ProgramResult result = run({"tune", "run.yaml", "--size", size});
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  refused_alone("417x", "--size: 'size' is '417x'");
  refused_alone("100", "--size: 'train.size' is 100");
}

TEST_F(Tunes, EndWithTheErrorOfTheFirstTrial) {
  const ProgramResult result =
      run(tune({"run.yaml", "--trials", "2", "--epochs", "1", "--device", "cuda:77"}));
  EXPECT_TRUE(result.code == 2 || result.code == 3) << result.code;
  EXPECT_NE(result.err.find("cuda:77"), std::string::npos) << result.err;
  EXPECT_FALSE(exists("runs/run-tune/trials.csv"));
}

TEST_F(Tunes, ListEveryValueThatCanBeSearchedWithItsRange) {
  const ProgramResult listed = run_program({"tune", "--list-keys"}, run_.folder());
  ASSERT_EQ(listed.code, 0) << listed.err;
  std::istringstream lines(listed.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_NE(line.find("searched without --keys"), std::string::npos) << line;
  for (const TunedKey& key : tunable_keys()) {
    ASSERT_TRUE(std::getline(lines, line));
    std::istringstream words(line);
    std::string name, usual;
    double low = 0, high = 0;
    words >> name >> low >> high >> usual;
    EXPECT_EQ(name, key.name);
    EXPECT_FLOAT_EQ(static_cast<float>(low), static_cast<float>(key.low));
    EXPECT_FLOAT_EQ(static_cast<float>(high), static_cast<float>(key.high));
    EXPECT_EQ(usual, key.usual ? "yes" : "-");
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(Tunes, SuggestARateWhereItsPlotCannotBeWritten) {
  fs::create_directories(run_.folder() / "runs/run-rate/rate.png");  // not even root can write there
  const ProgramResult result = run(tune({"run.yaml", "--find-rate", "--steps", "20"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("smoothed"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("The plot of the rates failed and is left out"), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("rate.png"), std::string::npos) << result.out;
}

TEST_F(Tunes, ReplaceTheCurveOfARateAndNoFilesOfOthers) {
  const auto find_rate_beside = [&](const std::string& name, const std::string& content) {
    fs::create_directories(run_.folder() / "mine");
    write_atomically(run_.folder() / "mine" / name, content);
    return run(tune({"run.yaml", "--find-rate", "--steps", "20", "--out", "mine"}));
  };
  for (const std::string name : {"rate.csv", "rate.png"}) {
    const ProgramResult refused = find_rate_beside(name, "my own measurements\n");
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_NE(refused.err.find("mine/" + name), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("--out"), std::string::npos) << refused.err;
    EXPECT_EQ(refused.err.find("20 steps of"), std::string::npos) << "before the steps: " << refused.err;
    EXPECT_EQ(file("mine/" + name), "my own measurements\n");
    EXPECT_EQ(fs::remove_all(run_.folder() / "mine"), 2u) << "nothing else was written";
  }
  fs::create_directories(run_.folder() / "mine");
  write_atomically(run_.folder() / "mine/rate.png", "an earlier plot\n");
  const std::string earlier = "rate,loss,smoothed\n0.5,1,1\n";
  const ProgramResult again = find_rate_beside("rate.csv", earlier);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(file("mine/rate.csv").starts_with("rate,loss,smoothed\n"));
  EXPECT_NE(file("mine/rate.csv"), earlier);
  EXPECT_NE(file("mine/rate.png"), "an earlier plot\n");
}

// As a job runner may start it: the first trial ended, and the search waited for it for ever.
TEST_F(Tunes, LearnHowTheirTrialsEndWhereTheirParentIgnoresThat) {
  std::vector<std::string> words =
      tune({"run.yaml", "--trials", "1", "--epochs", "1", "--keys", "optimizer.rate"});
  words.insert(words.begin(), {"--ignore-signal=CHLD", program().string()});
  const ProgramResult result = Program("env", words, run_.folder()).wait();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err.find("SIGCHLD"), std::string::npos) << result.err;
}

TEST_F(Tunes, FindARateWithoutBeginningARun) {
  const ProgramResult result = run(tune({"run.yaml", "--find-rate", "--steps", "60", "--json", "rate.json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("smoothed"), std::string::npos) << result.out;
  EXPECT_TRUE(exists("runs/run-rate/rate.csv"));
  EXPECT_TRUE(exists("runs/run-rate/rate.png"));
  EXPECT_FALSE(exists("runs/run"));
  const Json json = Json::parse(file("rate.json"));
  const std::string page = read_file(source_dir() / "docs/json.md");
  for (const auto& part : {json, json["points"][0]}) {
    for (const auto& [key, value] : part.items())
      EXPECT_NE(page.find('`' + key + '`'), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace brightnet::testing
