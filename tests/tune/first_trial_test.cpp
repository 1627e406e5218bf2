#include "tune/first_trial.h"

#include "brightnet/tune.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "tune/tuned_keys.h"

namespace brightnet {
namespace {

using testing::SmallRun;

SearchPlan plan_of(const SmallRun& run) {
  SearchPlan plan;
  plan.config = run.config().string();
  plan.overrides.assignments = {"train.size=64", "loader.workers=auto"};
  plan.epochs = 40;
  return plan;
}

/// Of an assignment "key=value" among these; -1: none.
double value_of(const std::vector<std::string>& assignments, const std::string& key) {
  for (const std::string& assignment : assignments) {
    if (assignment.starts_with(key + '=')) return std::stod(assignment.substr(key.size() + 1));
  }
  return -1;
}

TEST(FirstTrial, StartsTheSearchAtTheValuesThatItsRunHas) {
  const SmallRun run;
  const SearchPlan plan = plan_of(run);
  const Preparation first = prepare_first_trial(plan, "cpu", 1);
  const auto keys =
      choose_keys({"head.box_weight", "head.ignore_threshold", "schedule.warmup", "train.batch"});
  ASSERT_EQ(keys[0].name, "train.batch");
  ASSERT_EQ(keys[1].name, "schedule.warmup");
  const auto values = configured_values(first.config, first.model, keys);
  EXPECT_EQ(values[0], 4) << "of 12 images, each 40 times";
  EXPECT_NEAR(values[1], 4, 0.1) << "epochs: a tenth of the trial's 40";
  EXPECT_EQ(values[2], 8) << "of a fresh head; the model's is 1";
  EXPECT_NEAR(values[3], 0.7, 1e-6);
}

TEST(FirstTrial, RefusesKeysThatItsAssignmentDoesNotRead) {
  const SmallRun run;
  SearchPlan plan = plan_of(run);
  const auto keys = choose_keys({"head.iou_threshold"});
  EXPECT_THROW(refuse_without_effect(prepare_first_trial(plan, "cpu", 1).model, keys), InputError);
  plan.overrides.assignments.push_back("head.assignment=best_anchor");
  EXPECT_NO_THROW(refuse_without_effect(prepare_first_trial(plan, "cpu", 1).model, keys));
}

TEST(FirstTrial, LeavesTheOthersTheirShareOfTheMemory) {
  const SmallRun run;
  const SearchPlan plan = plan_of(run);
  const RunConfig asked = load_run_config(plan.config, plan.overrides.assignments);
  EXPECT_TRUE(share_of_trial(asked, prepare_first_trial(plan, "cpu", 1), 1).empty());
  const auto share = share_of_trial(asked, prepare_first_trial(plan, "cpu", 3), 3);
  EXPECT_NEAR(value_of(share, "train.memory_fraction"), 0.2, 1e-9);
  EXPECT_EQ(value_of(share, "loader.workers"), 1);
  EXPECT_GT(value_of(share, "loader.cache_mb"), 0);
  SearchPlan given = plan;
  given.overrides.assignments = {"train.size=64", "train.memory_fraction=0.3",
                                 "loader={workers: 2, cache_mb: 10}"};
  EXPECT_EQ(share_of_trial(load_run_config(given.config, given.overrides.assignments),
                           prepare_first_trial(given, "cpu", 3), 3),
            std::vector<std::string>{"train.memory_fraction=0.1"});
}

// A folder of its name is in the way: not even root can write the file.
TEST(FirstTrial, AndThoseAfterItGoOnWithoutAPlotAndTheConfigurationOfTheBest) {
  namespace fs = std::filesystem;
  const SmallRun run;
  const fs::path program = run.folder() / "program", out = run.folder() / "out", plot = out / "tune.png",
                 best = out / "config.yaml";
  write_atomically(program,
                   "#!/bin/sh\nmkdir -p $4\nprintf 'epoch,AP,AP50\\n1,0.2,0.4\\n' > $4/metrics.csv\n");
  fs::permissions(program, fs::perms::owner_all);
  const auto search = [&](int trials) {
    return search_values({.run = {.config = run.config().string()}, .device = "cpu", .folder = out},
                         {.program = program, .keys = {"optimizer.rate"}, .trials = trials, .epochs = 1});
  };
  ASSERT_TRUE(search(1));
  for (const fs::path& file : {plot, best}) {
    ASSERT_TRUE(fs::remove(file)) << file;
    fs::create_directories(file);
  }
  const testing::Logged logged;
  EXPECT_THROW(search(4), InputError) << "what to train with must be there at the end";
  end_log_file();
  EXPECT_EQ(read_lines(out / "trials.csv").size(), 5u) << logged.text();
  const std::string warning = "The plot of the trials failed and is left out";
  const size_t first = logged.text().find(warning);
  ASSERT_NE(first, std::string::npos) << logged.text();
  EXPECT_EQ(logged.text().find(warning, first + 1), std::string::npos) << "said twice: " << logged.text();
  EXPECT_NE(logged.text().find("The search and its results are not affected."), std::string::npos);
  fs::remove(best);
  EXPECT_TRUE(search(4));
  EXPECT_TRUE(fs::is_regular_file(best));
  EXPECT_EQ(logged.text().find("trials.csv, " + plot.string()), std::string::npos) << "it is not there";
}

}  // namespace
}  // namespace brightnet
