#include "tune/search_report.h"

#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet {
namespace {

using testing::SmallRun;

const cv::Vec3b blue(0, 114, 178), orange(213, 94, 0);

SearchSetup setup_of(const std::vector<std::string>& keys, const std::vector<double>& configured) {
  SearchSetup setup;
  setup.plan.config = "run.yaml";
  setup.plan.trials = 40;
  setup.keys = choose_keys(keys);
  setup.configured = configured;
  return setup;
}

/// The mean place of the pixels of nearly this colour below the legend; (0, 0) for none.
cv::Point2d place_of(const cv::Mat& plot, cv::Vec3b color) {
  cv::Point2d sum;
  int count = 0;
  for (int y = 36; y < plot.rows; ++y) {
    for (int x = 0; x < plot.cols; ++x) {
      // The best value is written in the panel's first lines.
      if (y < 76 || cv::norm(plot.at<cv::Vec3b>(y, x), color) > 20) continue;
      sum += cv::Point2d(x, y);
      ++count;
    }
  }
  return count ? sum / count : sum;
}

TEST(SearchReport, SortsTheTrialsAndNamesWhatDiffers) {
  const SearchSetup setup = setup_of({"optimizer.rate", "augment.mosaic"}, {0.01, 0.5});
  const std::vector<Trial> trials{{0, -1, {0.01, 0.5}, 0.3, 61, ""},
                                  {1, 0, {0.02, 0.5}, 0, 5, "it was ended by signal 9"},
                                  {2, 0, {0.005, 0.7}, 0.4, 60, ""}};
  const std::string table = trials_table(setup, trials, 20);
  const size_t best = table.find("optimizer.rate=0.005 augment.mosaic=0.7");
  const size_t first = table.find("the configuration as it is");
  const size_t failed = table.find("failed");
  ASSERT_NE(failed, std::string::npos) << table;
  EXPECT_LT(best, first) << table;
  EXPECT_LT(first, failed) << table;
  EXPECT_NE(trials_table(setup, trials, 1).find("and 2 more"), std::string::npos);
  EXPECT_EQ(trial_line(setup, trials, trials[2], 120),
            "Trial 2 (3 of 40): AP 0.4000 (best 0.4000, trial 2), 1:00; about 2:00 left");
  EXPECT_NE(trial_line(setup, trials, trials[1], 120).find("failed: it was ended by signal 9"),
            std::string::npos);
}

TEST(SearchReport, TheAnswerInJsonHasEveryTrial) {
  const SearchSetup setup = setup_of({"optimizer.rate", "augment.mosaic"}, {0.01, 0.5});
  const std::vector<Trial> trials{{0, -1, {0.01, 0.5}, 0.3, 61, ""}, {1, 0, {0.02, 0.25}, 0.4, 5, "no"}};
  const Json json = to_json(setup, trials, "out/config.yaml");
  EXPECT_EQ(json["best"], 1);
  EXPECT_EQ(json["score"], 0.4);
  EXPECT_EQ(json["config"], "out/config.yaml");
  EXPECT_EQ(json["trials"][1].dump(), R"({"trial":1,"parent":0,"score":0.4,"seconds":5.0,"failure":"no",)"
                                      R"("values":{"optimizer.rate":0.02,"augment.mosaic":0.25}})");
  EXPECT_EQ(to_json(setup, {}, "")["best"], -1);
}

TEST(SearchReport, TheBestConfigurationFindsTheFilesThatLieBesideTheUsers) {
  const SmallRun run;
  write_atomically(run.folder() / "teacher.weights", std::string("w"));
  write_atomically(run.folder() / "teacher.cfg", std::string("[net]"));
  // As it stands in the file: beside it.
  YAML::Node written = YAML::Clone(load_run_config(run.config()).source->node);
  written["train"]["teacher"] = "teacher.weights";
  written["train"]["teacher_cfg"] = "teacher.cfg";
  write_atomically(run.folder() / "with_teacher.yaml", YAML::Dump(written) + '\n');
  const RunConfig own = load_run_config(run.folder() / "with_teacher.yaml");
  ASSERT_EQ(own.train.teacher, (run.folder() / "teacher.weights").string());
  const auto file = run.folder() / "elsewhere/config.yaml";
  std::filesystem::create_directories(file.parent_path());
  write_atomically(file, best_config(setup_of({"augment.mosaic"}, {0.5}), own, {0, -1, {0.5}, 0.4, 60, ""}));
  const RunConfig after = load_run_config(file);
  EXPECT_EQ(after.train.teacher, own.train.teacher);
  EXPECT_EQ(after.train.teacher_cfg, own.train.teacher_cfg);
}

TEST(SearchReport, TheBestConfigurationIsTheUsersWithItsValues) {
  const SmallRun run;
  const std::vector<std::string> assignments{"train.epochs=7", "augment.mosaic=0.5", "name=\"1 of 2: a\""};
  const RunConfig before = load_run_config(run.config(), assignments);
  const SearchSetup setup =
      setup_of({"optimizer.rate", "head.box_weight", "augment.mosaic", "augment.hue"}, {0.002, 1, 0.5, 0.1});
  const Trial best{4, 0, {0.00321, 2.5, 0.25, 0.1}, 0.4, 60, ""};
  // In another folder, so that relative paths would be lost.
  const auto file = run.folder() / "elsewhere/config.yaml";
  std::filesystem::create_directories(file.parent_path());
  write_atomically(file, best_config(setup, before, best));
  const RunConfig after = load_run_config(file);
  const auto differences = compare(before, after);
  std::vector<std::string> keys;
  for (const auto& difference : differences) keys.push_back(difference.key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"augment.hue", "augment.mosaic", "head.box_weight", "optimizer.rate"}))
      << "hue, too: as it was in the trial, even where the configuration has another default";
  EXPECT_EQ(after.optimizer.rate, 0.00321f);
  EXPECT_EQ(after.augment.mosaic, 0.25f);
  EXPECT_EQ(after.name, "1 of 2: a");
  EXPECT_EQ(after.train.epochs, 7);
  EXPECT_EQ(read_file(file).find("!--"), std::string::npos) << read_file(file);
}

TEST(SearchReport, TheBestConfigurationHasAllValuesOfATrialWithoutAParent) {
  const SmallRun run;
  const SearchSetup setup = setup_of({"optimizer.rate", "augment.hue"}, {0.002, 0.125});
  const auto yaml_of = [&](const Trial& best) {
    return best_config(setup, load_run_config(run.config()), best);
  };
  const std::string changed = yaml_of({1, -1, {0.00321, 0.125}, 0.4, 60, ""});
  EXPECT_NE(changed.find("hue: 0.125"), std::string::npos) << "as in the trial: " << changed;
  const std::string itself = yaml_of({0, -1, {0.002, 0.125}, 0.4, 60, ""});
  EXPECT_EQ(itself.find("hue: 0.125"), std::string::npos) << itself;
}

TEST(SearchReport, TheBestConfigurationFindsItsWeightsFromAnotherFolder) {
  SmallRun run;
  const auto weights = testing::write_small_weights(run);
  run.write_config("train: {precision: fp32, weights: " + weights.filename().string() + "}\n");
  const SearchSetup setup = setup_of({"optimizer.rate"}, {0.002});
  const auto file = run.folder() / "elsewhere/config.yaml";
  std::filesystem::create_directories(file.parent_path());
  write_atomically(file, best_config(setup, load_run_config(run.config()), {1, 0, {0.00321}, 0.4, 60, ""}));
  EXPECT_TRUE(std::filesystem::equivalent(load_run_config(file).train.weights, weights));
}

TEST(SearchReport, TheBestConfigurationNamesTheAutomaticValuesThatItFixes) {
  const SmallRun run;
  const std::vector<std::string> assignments{"optimizer.rate=auto", "augment.hue=0.125"};
  const RunConfig config = load_run_config(run.config(), assignments);
  const SearchSetup setup = setup_of({"optimizer.rate", "head.box_weight", "augment.mosaic", "augment.hue"},
                                     {0.002, 1, 0.5, 0.125});
  const auto yaml_of = [&](const Trial& best) { return best_config(setup, config, best); };
  const std::string comment = "# Fixed as in the trials, automatic before:";
  const std::string kept = yaml_of({1, 0, {0.002, 1, 0.25, 0.125}, 0.4, 60, ""});
  EXPECT_NE(kept.find(comment + " optimizer.rate=0.002 head.box_weight=1\n"), std::string::npos) << kept;
  const std::string changed = yaml_of({1, 0, {0.004, 2, 0.5, 0.125}, 0.4, 60, ""});
  EXPECT_EQ(changed.find(comment), std::string::npos) << changed;
  const std::string itself = yaml_of({0, -1, {0.002, 1, 0.5, 0.125}, 0.4, 60, ""});
  EXPECT_EQ(itself.find(comment), std::string::npos) << itself;
}

TEST(SearchReport, TheCommandToResumeHasWhatTheFolderDoesNotKeep) {
  EXPECT_EQ(resume_command("runs/a-tune", "auto", 1), "brightnet tune --resume runs/a-tune");
  EXPECT_EQ(resume_command("my runs/a", "auto", 1), "brightnet tune --resume 'my runs/a'");
  EXPECT_EQ(resume_command("runs/a-tune", "cuda", 4),
            "brightnet tune --resume runs/a-tune --device cuda --jobs 4");
}

TEST(SearchPlot, HasThePointsOfEveryKeyAndMarksTheBest) {
  const SearchSetup setup = setup_of({"augment.mosaic"}, {0.5});
  const std::vector<Trial> trials{{0, -1, {0.5}, 0.3, 1, ""},
                                  {1, 0, {0.9}, 0.2, 1, ""},
                                  {2, 0, {0.1}, 0.4, 1, ""},
                                  {3, 0, {0.6}, 0, 1, "it failed"}};
  const cv::Mat plot = plot_search(setup, trials);
  const cv::Point2d best = place_of(plot, orange), other = place_of(plot, blue);
  ASSERT_GT(best.x, 0);
  ASSERT_GT(other.x, 0);
  EXPECT_LT(best.x, other.x - 100) << "0.1 stands left of 0.9";
  EXPECT_LT(best.y, other.y - 100) << "0.4 stands above 0.2";
}

TEST(SearchPlot, HasNoRoomForTheScoreOfAFailedTrial) {
  const SearchSetup setup = setup_of({"augment.mosaic"}, {0.5});
  std::vector<Trial> trials{{0, -1, {0.5}, 0.3, 1, ""}, {1, 0, {0.6}, 0.32, 1, ""}};
  const cv::Mat plot = plot_search(setup, trials);
  trials.push_back({2, 0, {0.9}, 0, 1, "it failed"});
  EXPECT_EQ(cv::norm(plot, plot_search(setup, trials), cv::NORM_INF), 0);
}

TEST(SearchPlot, SurvivesEverySearch) {
  const SearchSetup setup = setup_of({}, std::vector<double>(choose_keys({}).size(), 0));
  const std::vector<double> zeros = setup.configured;
  EXPECT_FALSE(plot_search(setup, {}).empty());
  EXPECT_FALSE(plot_search(setup, {{0, -1, zeros, 0, 1, "it failed"}}).empty());
  EXPECT_FALSE(plot_search(setup, {{0, -1, zeros, 0, 1, ""}}).empty());
  EXPECT_FALSE(plot_search(setup_of({"optimizer.rate"}, {0.01}),
                           {{0, -1, {0.01}, 0.1, 1, ""}, {1, 0, {0.5}, 0.1, 1, ""}})
                   .empty());
}

}  // namespace
}  // namespace brightnet
