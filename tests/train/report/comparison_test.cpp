#include "train/report/comparison.h"

#include "brightnet/compare.h"
#include "tests/train/small_run.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A run's folder with a configuration, a model and a table of two epochs, but no weights.
fs::path make_run(const SmallRun& run, const std::string& name, const std::vector<std::string>& more) {
  const RunFolder folder = RunFolder::create(run.folder() / name);
  RunConfig config = run.load(more);
  config.model = "model.yaml";
  fs::copy_file(run.folder() / "model.yaml", folder.model());
  write_atomically(folder.config(), print_config(config));
  write_atomically(folder.metrics(),
                   "epoch,loss,images_per_s,AP,AP50,AP75,seconds\n"
                   "1,4,10,0.25,0.5,0.125,30\n"
                   "2,2,20,0.125,0.75,0.25,60\n");
  return folder.path();
}

TEST(Comparison, TakesTheBestEvaluationAndTheSpeedFromTheTable) {
  const SmallRun run;
  const ComparedRun read = read_run(make_run(run, "a", {}));
  EXPECT_EQ(read.name, "a");
  EXPECT_EQ(read.AP, 0.25);
  EXPECT_EQ(read.AP50, 0.5);
  EXPECT_EQ(read.AP75, 0.125);
  EXPECT_EQ(read.best_epoch, 1);
  EXPECT_EQ(read.epochs, 2);
  EXPECT_EQ(read.seconds, 90);
  EXPECT_DOUBLE_EQ(read.images_per_s, 1500.0 / 90);
  EXPECT_GT(read.parameters, 1000);
  EXPECT_EQ(read.problems.size(), 2u) << "no state, no weights";
}

TEST(Comparison, WithoutSecondsTheSpeedIsTheMeanOfTheRowsThatHaveOne) {
  const SmallRun run;
  const fs::path path = make_run(run, "a", {});
  write_atomically(path / "metrics.csv",
                   "epoch,loss,images_per_s,AP,AP50,AP75\n0.5,4,,0.125,0.5,0.125\n1,4,10,0.25,0.5,0.125\n"
                   "1.5,4,,0.5,0.5,0.125\n2,2,30,0.125,0.75,0.25\n");
  EXPECT_EQ(read_run(path).images_per_s, 20);
}

TEST(Comparison, CountsNoSecondTwiceWhereEpochsWereEvaluatedWithin) {
  const SmallRun run;
  const fs::path path = make_run(run, "a", {});
  write_atomically(path / "metrics.csv",
                   "epoch,loss,images_per_s,AP,AP50,AP75,seconds\n"
                   "0.5,4,,0.125,0.5,0.125,\n"
                   "1,4,10,0.25,0.5,0.125,60\n"
                   "1.25,4,,0.5,0.5,0.125,\n"
                   "2,2,20,0.125,0.75,0.25,120\n"
                   "2.5,2,,0.125,0.75,0.25,\n");
  const ComparedRun read = read_run(path);
  EXPECT_EQ(read.best_epoch, 2) << "within the second epoch";
  EXPECT_EQ(read.AP, 0.5);
  EXPECT_EQ(read.epochs, 2) << "complete ones";
  EXPECT_EQ(read.seconds, 180);
  EXPECT_DOUBLE_EQ(read.images_per_s, 3000.0 / 180);
  EXPECT_EQ(minutes_of(read.curves), (std::vector<double>{0.5, 1, 1.5, 3, 4}));
}

// It ended within the second epoch, and was made longer: the row behind has the seconds of the epoch's rest.
TEST(Comparison, CountsTheSecondsOfAnEpochInWhichTheRunEndedOnce) {
  const SmallRun run;
  const fs::path path = make_run(run, "a", {});
  write_atomically(path / "metrics.csv",
                   "epoch,loss,images_per_s,AP,AP50,AP75,seconds\n"
                   "1,4,10,0.25,0.5,0.125,60\n"
                   "1.5,4,10,0.5,0.5,0.125,30\n"
                   "1.75,2,,0.125,0.75,0.25,\n"
                   "2,2,10,0.125,0.75,0.25,60\n"
                   "2.5,2,10,0.125,0.75,0.25,30\n");
  const ComparedRun read = read_run(path);
  EXPECT_EQ(read.epochs, 2);
  EXPECT_EQ(read.seconds, 180);
  EXPECT_EQ(minutes_of(read.curves), (std::vector<double>{1, 1.5, 2, 2.5, 3}));
}

TEST(Comparison, ListsADamagedRunWithWhatItHas) {
  const SmallRun run;
  const fs::path damaged = make_run(run, "damaged", {});
  write_atomically(damaged / "metrics.csv", "epoch,AP\n1,much\n");
  write_atomically(damaged / "config.yaml", "train: {epochs: [}\n");
  const ComparedRun read = read_run(damaged);
  EXPECT_EQ(read.AP, -1);
  EXPECT_FALSE(read.config);
  const std::vector<ComparedRun> runs{read_run(make_run(run, "whole", {})), read};
  const std::string text = comparison_text(runs);
  EXPECT_NE(text.find("'much' is not a number"), std::string::npos) << text;
  EXPECT_NE(text.find("0.2500"), std::string::npos) << text;
  EXPECT_THROW(read_run(run.folder() / "data"), InputError);
  EXPECT_FALSE(plot_comparison(runs, false).empty());
}

TEST(Comparison, NamesTheKeysThatDiffer) {
  const SmallRun run;
  std::vector<ComparedRun> runs{read_run(make_run(run, "a", {"optimizer.rate=0.5"})),
                                read_run(make_run(run, "b", {"optimizer.rate=0.5", "train.epochs=7"})),
                                read_run(make_run(run, "c", {"optimizer.rate=0.25"}))};
  const auto keys = differing_keys(runs);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].key, "train.epochs");
  EXPECT_EQ(keys[0].values, (std::vector<std::string>{"2", "7", "2"}));
  EXPECT_EQ(keys[1].key, "optimizer.rate");
  EXPECT_EQ(keys[1].values, (std::vector<std::string>{"0.5", "0.5", "0.25"}));
  runs[0].config.reset();
  runs[2].network += "\n# another\n";
  const auto fewer = differing_keys(runs);
  ASSERT_EQ(fewer.size(), 3u);
  EXPECT_EQ(fewer[0].values, (std::vector<std::string>{"small of a", "small of a", "small of c"}));
  EXPECT_EQ(fewer[1].values, (std::vector<std::string>{"-", "7", "2"}));
  const Json json = comparison_json(runs);
  EXPECT_EQ(json.at("runs").size(), 3u);
  EXPECT_EQ(json.at("runs")[0].at("AP50"), 0.5);
  EXPECT_EQ(json.at("differing_keys").at("train.epochs")[1], "7");
}

/// A state that knows only which data the run had.
void write_data_of(const fs::path& run, uint64_t train, uint64_t val) {
  RunState state;
  state.layout = "layout";
  state.threads = 1;
  state.train = {205, 2804, train};
  state.val = {87, 1137, val};
  const auto backend = make_cpu_backend();
  save_state(RunFolder::at(run).state(), state, {}, *backend);
}

// Of smoothed scores another evaluation may be the best than the one with the highest score.
TEST(Comparison, TakesTheScoresOfTheBestWeightsFromTheState) {
  const SmallRun run;
  const fs::path path = make_run(run, "a", {});
  RunState state;
  state.layout = "layout";
  state.threads = 1;
  state.progress.epoch = 2;
  state.progress.best_epoch = 2;
  Metrics& best = state.best.emplace();
  best.AP = 0.125;
  best.AP50 = 0.75;
  best.AP75 = 0.25;
  const auto backend = make_cpu_backend();
  save_state(RunFolder::at(path).state(), state, {}, *backend);
  const ComparedRun read = read_run(path);
  EXPECT_EQ(read.best_epoch, 2);
  EXPECT_EQ(read.AP, 0.125);
  EXPECT_EQ(read.AP50, 0.75);
  EXPECT_EQ(read.AP75, 0.25);
}

TEST(Comparison, NamesOtherData) {
  const SmallRun run;
  std::vector<fs::path> folders{make_run(run, "a", {}), make_run(run, "b", {}), make_run(run, "c", {}),
                                make_run(run, "old", {})};
  write_data_of(folders[0], 1, 7);
  write_data_of(folders[1], 2, 7);
  write_data_of(folders[2], 1, 8);
  const auto keys_of = [&](const std::vector<size_t>& which) {
    std::vector<ComparedRun> runs;
    for (const size_t i : which) runs.push_back(read_run(folders[i]));
    return std::pair(differing_keys(runs), comparison_text(runs));
  };
  const std::string warning = "validated on different data";
  const auto [none, plain] = keys_of({0, 0, 3});
  EXPECT_TRUE(none.empty()) << plain;
  EXPECT_EQ(plain.find(warning), std::string::npos) << plain;
  const auto [training, more] = keys_of({0, 1, 3});
  ASSERT_EQ(training.size(), 1u) << more;
  EXPECT_EQ(training[0].key, "training split");
  EXPECT_EQ(training[0].values,
            (std::vector<std::string>{"205 images, 2804 objects, 0000000000000001",
                                      "205 images, 2804 objects, 0000000000000002", "-"}));
  EXPECT_EQ(more.find(warning), std::string::npos) << "other training data are a fair comparison";
  const auto [validation, other] = keys_of({0, 2});
  ASSERT_EQ(validation.size(), 1u) << other;
  EXPECT_EQ(validation[0].key, "validation split");
  EXPECT_NE(other.find(warning), std::string::npos) << other;
  const std::vector<ComparedRun> runs{read_run(folders[0]), read_run(folders[2])};
  EXPECT_EQ(comparison_json(runs).at("same_validation"), false);
  EXPECT_NE(comparison_page(runs, false).html().find(warning), std::string::npos);
}

TEST(Comparison, NamesHeadsByWhatTheyWereWhereverItWasGiven) {
  const SmallRun run;
  const auto with_head = [&](const char* name, const std::string& settings,
                             const std::vector<std::string>& more) {
    const fs::path path = make_run(run, name, more);
    YAML::Node model = YAML::LoadFile((path / "model.yaml").string());
    for (const auto& setting : YAML::Load(settings)) model["head"][setting.first] = setting.second;
    write_atomically(path / "model.yaml", YAML::Dump(model));
    return read_run(path);
  };
  // A run's model.yaml has what the configuration gave; the second one's came from its model's file alone.
  const std::vector<ComparedRun> runs{with_head("a", "{box_weight: 4}", {"head.box_weight=4"}),
                                      with_head("b", "{box_weight: 2, iou_loss: giou}", {})};
  const auto keys = differing_keys(runs);
  ASSERT_EQ(keys.size(), 2u) << comparison_text(runs);
  EXPECT_EQ(keys[0].key, "head.iou_loss");
  EXPECT_EQ(keys[1].key, "head.box_weight");
  EXPECT_EQ(keys[1].values, (std::vector<std::string>{"4", "2"}));
}

TEST(Comparison, ANetworkForGreyImagesIsAnotherOne) {
  const SmallRun run;
  const fs::path path = make_run(run, "grey", {});
  YAML::Node model = YAML::LoadFile((path / "model.yaml").string());
  model["input"]["channels"] = 1;
  write_atomically(path / "model.yaml", YAML::Dump(model));
  const auto keys = differing_keys({read_run(make_run(run, "color", {})), read_run(path)});
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].key, "model");
  EXPECT_EQ(keys[0].values, (std::vector<std::string>{"small of color", "small of grey"}));
}

/// How many pixels have nearly this colour.
int pixels_of(const cv::Mat& plot, cv::Vec3b color) {
  int count = 0;
  for (int y = 0; y < plot.rows; ++y) {
    for (int x = 0; x < plot.cols; ++x) count += cv::norm(plot.at<cv::Vec3b>(y, x), color) < 30;
  }
  return count;
}

TEST(Comparison, DrawsARunInAColourOfItsOwn) {
  const SmallRun run;
  std::vector<ComparedRun> runs{read_run(make_run(run, "a", {}))};
  const cv::Vec3b blue(0, 114, 178), red(213, 94, 0);
  const cv::Mat one = plot_comparison(runs, false);
  EXPECT_GT(pixels_of(one, blue), 500);
  EXPECT_LT(pixels_of(one, red), 50);
  runs.push_back(read_run(make_run(run, "b", {})));
  for (auto& row : runs[1].curves.rows) row[4] += 0.3;
  EXPECT_GT(pixels_of(plot_comparison(runs, true), red), 100);
}

TEST(Comparison, RunsOfOneNameAreToldApartByTheirFolders) {
  const SmallRun run;
  const fs::path one = make_run(run, "one/bolts", {}), other = make_run(run, "other/bolts", {});
  const brightnet::Comparison compared =
      compare_runs({one.string(), other.string()}, {.plot = run.folder() / "compare.html"});
  const Json rows = Page::read(read_file(compared.page)).section("Runs")["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0], "bolts");
  EXPECT_EQ(rows[1][0], other.string());
}

TEST(Comparison, DrawsCurvesOverEpochsOrMinutes) {
  const SmallRun run;
  const std::vector<ComparedRun> runs{read_run(make_run(run, "a", {}))};
  const auto places = [&](bool over_minutes) { return comparison_panels(runs, over_minutes)[0].curves[0].x; };
  EXPECT_EQ(places(false), (std::vector<double>{1, 2}));
  EXPECT_EQ(places(true), (std::vector<double>{0.5, 1.5})) << "epochs of 30 and 60 seconds";
}

TEST(Comparison, APageHasTheTablesAndTheCurvesOfAllRuns) {
  const SmallRun run;
  std::vector<ComparedRun> runs{read_run(make_run(run, "a", {"optimizer.rate=0.5"})),
                                read_run(make_run(run, "b", {"optimizer.rate=0.25"}))};
  const Page page = comparison_page(runs, false);
  EXPECT_EQ(page.section("Runs")["rows"].size(), 2u);
  EXPECT_EQ(page.section("Runs")["rows"][0][1], "0.5000");
  EXPECT_EQ(page.section("Keys that differ")["rows"], Json::parse(R"([["optimizer.rate","0.5","0.25"]])"));
  const Json panels = page.section("Curves")["panels"];
  ASSERT_GT(panels.size(), 2u);
  for (const Json& panel : panels) EXPECT_EQ(panel["curves"].size(), 2u);
  EXPECT_NE(panels[0]["curves"][0]["color"], panels[0]["curves"][1]["color"]);
}

}  // namespace
}  // namespace brightnet::testing
