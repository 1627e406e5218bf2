// The search with a script in brightnet's place, whose score is the number of the trial, or what a test says.
#include "tune/search.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "core/files.h"
#include "train/run/run_lock.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class SearchOf : public ::testing::Test {
 protected:
  SearchOf() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    be_brightnet("");
    setup_.plan.config = "run.yaml";
    setup_.plan.overrides.assignments = {"train.size=64", "name=a b"};
    setup_.plan.keys = {"optimizer.rate", "augment.mosaic"};
    setup_.plan.epochs = 2;
    setup_.plan.trials = 6;
    setup_.plan.seed = 3;
    setup_.keys = choose_keys(setup_.plan.keys);
    setup_.configured = {0.01, 0.5};
    setup_.share = {"loader.workers=1"};
    setup_.program = (folder_ / "program").string();
    setup_.devices = {"cpu"};
  }
  ~SearchOf() override { fs::remove_all(folder_); }

  /// `cases` are lines of a shell's `case $trial in … esac`, before what every trial does.
  void be_brightnet(const std::string& cases) {
    write_atomically(folder_ / "program",
                     "#!/bin/sh\nout=$4; trial=${out##*/}\n"
                     "for word in \"$@\"; do echo \"$word\"; done > " +
                         (folder_ / "words").string() +
                         "-$trial\nmkdir -p $out/weights $out/state\n"
                         "echo begin $trial >> " +
                         (folder_ / "order").string() + "\ncase $trial in\n" + cases +
                         "\nesac\nprintf 'epoch,AP,AP50\\n1,0.1%s,0.9\\n2,,\\n' $trial > "
                         "$out/metrics.csv\n");
    fs::permissions(folder_ / "program", fs::perms::owner_all);
  }
  SearchFolder open() const { return SearchFolder(folder_ / "out", setup_.plan, "size: 64\n"); }
  /// The trials after a search that ends by itself.
  std::vector<Trial> search() {
    const SearchFolder folder = open();
    Search search(setup_, folder);
    EXPECT_EQ(search.run({}, [](const Trial&) {}), SearchEnd::finished);
    return search.trials();
  }
  std::string read(const std::string& name) const { return read_file(folder_ / name); }
  static std::vector<std::vector<double>> values_of(const std::vector<Trial>& trials) {
    std::vector<std::vector<double>> all;
    for (const Trial& trial : trials) all.push_back(trial.values);
    return all;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     ("tune_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
  SearchSetup setup_;
};

TEST_F(SearchOf, RunsTheConfigurationFirstAndThenItsChildren) {
  const auto trials = search();
  ASSERT_EQ(trials.size(), 6u);
  EXPECT_EQ(trials[0].values, setup_.configured);
  EXPECT_NEAR(trials[3].score, 0.10003, 1e-9);
  EXPECT_EQ(best_of(trials)->number, 5);
  EXPECT_EQ(
      read("words-0000"),
      "train\nrun.yaml\n--out\n" + (folder_ / "out/trials/0000").string() +
          "\n--device\ncpu\n--set=train.size=64\n--set=name=a b\n--set=train.epochs=2\n--set=train.minutes=0\n"
          "--set=train.iterations=0\n--set=name=0000\n--set=loader.workers=1\n");
  for (const auto& value : assignments(setup_.keys, trials[2].values))
    EXPECT_NE(read("words-0002").find("--set=" + value + '\n'), std::string::npos) << value;
  for (const Trial& trial : trials) {
    for (const char* part : {"weights", "state"})
      EXPECT_EQ(fs::exists(folder_ / fmt::format("out/trials/{:04}/{}", trial.number, part)),
                trial.number == 5)
          << "only the best keeps its weights and state";
    EXPECT_TRUE(fs::exists(folder_ / fmt::format("out/trials/{:04}/metrics.csv", trial.number)));
  }
}

TEST_F(SearchOf, TakesTheScoreThatSelectsTheBestWeights) {
  setup_.plan.trials = 1;
  setup_.best_by = BestBy::AP50;
  EXPECT_EQ(search()[0].score, 0.9);
}

TEST_F(SearchOf, IsTheSameOneByOneAfterAnyStop) {
  const auto whole = search();
  fs::remove_all(folder_ / "out");
  for (const int trials : {2, 5}) {
    setup_.plan.trials = trials;
    EXPECT_EQ(search().size(), static_cast<size_t>(trials));
  }
  // The machine died within trial 5.
  fs::create_directories(folder_ / "out/trials/0005/weights");
  write_atomically(folder_ / "out/trials/0005/stale", std::string("x"));
  setup_.plan.trials = 6;
  write_atomically(folder_ / "order", std::string());
  const auto parts = search();
  EXPECT_EQ(read("order"), "begin 0005\n");
  EXPECT_FALSE(fs::exists(folder_ / "out/trials/0005/stale"));
  EXPECT_EQ(values_of(parts), values_of(whole));
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].score, whole[i].score);
    EXPECT_EQ(parts[i].parent, whole[i].parent);
  }
}

TEST_F(SearchOf, GoesOnAfterAFailedTrialAndKeepsItsReason) {
  be_brightnet(
      "0002) echo 'first words'; echo 'the gradient, \"g\", is not finite.' >&2; exit 2;;\n"
      "0003) kill -9 $$;;\n0004) rm -rf $out; exit 0;;");
  const auto check = [](const std::vector<Trial>& trials) {
    ASSERT_EQ(trials.size(), 6u);
    EXPECT_EQ(trials[2].score, 0);
    EXPECT_EQ(trials[2].failure, "the gradient, \"g\", is not finite.");
    EXPECT_NE(trials[3].failure.find("signal 9"), std::string::npos) << trials[3].failure;
    EXPECT_NE(trials[4].failure.find("metrics.csv"), std::string::npos) << trials[4].failure;
    EXPECT_EQ(trials[5].failure, "");
    EXPECT_NE(trials[5].parent, 2);
  };
  check(search());
  check(read_trials(folder_ / "out/trials.csv", setup_.keys));
  EXPECT_NE(read("out/trials/0002.log").find("first words"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "out/trials/0001.log"));
}

TEST_F(SearchOf, KeepsAResultWhoseLogCannotBeRemoved) {
  be_brightnet("0001) rm $out.log; mkdir -p $out.log/full;;");
  setup_.plan.trials = 2;
  EXPECT_EQ(search().size(), 2u);
  EXPECT_EQ(read_trials(folder_ / "out/trials.csv", setup_.keys).size(), 2u);
}

TEST_F(SearchOf, SaysWhyItCannotRemoveAnInterruptedTrial) {
  const SearchFolder folder = open();
  fs::remove_all(folder_ / "out/trials");
  fs::create_symlink("trials", folder_ / "out/trials");  // leads to itself
  Search search(setup_, folder);
  try {
    search.run({}, [](const Trial&) {});
    FAIL() << "nothing can be removed there";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("interrupted trial"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("trials/0000"), std::string::npos) << e.what();
  }
}

TEST_F(SearchOf, WaitsForATrialOfTheKilledSearchToEnd) {
  const SearchFolder folder = open();
  const RunFolder left = RunFolder::create(folder_ / "out/trials/0000");
  std::optional<RunLock> held(std::in_place, left);
  std::jthread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(fs::exists(folder_ / "order")) << "a trial began in a folder that another one writes";
    write_atomically(left.path() / "late", "");
    held.reset();
  });
  Search search(setup_, folder);
  EXPECT_EQ(search.run({}, [](const Trial&) {}), SearchEnd::finished);
  EXPECT_FALSE(fs::exists(left.path() / "late"));
  EXPECT_EQ(search.trials().size(), 6u);
}

TEST_F(SearchOf, EndsWithTheErrorOfTheFirstTrial) {
  for (const ExitCode code : {ExitCode::input, ExitCode::device}) {
    const int number = static_cast<int>(code);
    be_brightnet("0000) echo 'run.yaml:3: there is no key x.'; exit " + std::to_string(number) + ";;");
    const SearchFolder folder = open();
    Search search(setup_, folder);
    try {
      search.run({}, [](const Trial&) {});
      ADD_FAILURE() << "the first trial ended with " << number;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code);
      EXPECT_NE(std::string(e.what()).find("run.yaml:3: there is no key x."), std::string::npos) << e.what();
    }
    EXPECT_FALSE(fs::exists(folder.table()));
  }
}

TEST_F(SearchOf, StopsItsTrialsWhenAskedToAndRunsThemAgain) {
  const fs::path ready = folder_ / "ready", stopped = folder_ / "stopped";
  be_brightnet("0002) trap 'touch " + stopped.string() + "; exit 4' TERM; touch " + ready.string() +
               "; while :; do sleep 0.01; done;;");
  std::stop_source stop;
  std::thread sender([&] {
    for (int i = 0; i < 3000 && !fs::exists(ready); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop.request_stop();
  });
  {
    const SearchFolder folder = open();
    Search search(setup_, folder);
    EXPECT_EQ(search.run(stop.get_token(), [](const Trial&) {}), SearchEnd::interrupted);
    EXPECT_EQ(search.trials().size(), 2u);
  }
  sender.join();
  EXPECT_TRUE(fs::exists(stopped));
  be_brightnet("");
  write_atomically(folder_ / "order", std::string());
  EXPECT_EQ(search().size(), 6u);
  EXPECT_EQ(read("order"), "begin 0002\nbegin 0003\nbegin 0004\nbegin 0005\n");
}

/// A second signal would end a run at once, before it has saved.
TEST_F(SearchOf, AsksATrialOnceToStop) {
  const fs::path asked = folder_ / "asked", ready = folder_ / "ready";
  write_atomically(folder_ / "program", "#!/bin/sh\ntrap 'echo asked >> " + asked.string() +
                                            "' TERM\ntouch " + ready.string() +
                                            "\nfor i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done\n");
  fs::permissions(folder_ / "program", fs::perms::owner_all);
  const auto wait_for = [](const fs::path& file) {
    for (int i = 0; i < 3000 && !fs::exists(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  {
    TrialProcess trial({(folder_ / "program").string()}, folder_ / "log");
    wait_for(ready);
    trial.stop();
    wait_for(asked);
  }
  EXPECT_EQ(read_lines(asked).size(), 1u);
}

TEST_F(SearchOf, RunsTrialsSideBySideOnTheirDevices) {
  // Each of the first two waits for the other.
  const std::string meeting = "touch " + folder_.string() + "/met-$trial; i=0; while [ ! -e " +
                              folder_.string() + "/met-0000 -o ! -e " + folder_.string() +
                              "/met-0001 ] && [ $i -lt 500 ]; do sleep 0.01; i=$((i+1)); done; "
                              "[ $i -lt 500 ] || exit 1;;";
  be_brightnet("0000|0001) " + meeting);
  setup_.devices = {"cuda:0", "cuda:1"};
  const auto trials = search();
  ASSERT_EQ(trials.size(), 6u);
  for (const Trial& trial : trials) EXPECT_EQ(trial.failure, "") << trial.number;
  EXPECT_NE(read("words-0000").find("cuda:0\n"), std::string::npos);
  EXPECT_NE(read("words-0001").find("cuda:1\n"), std::string::npos);
  EXPECT_EQ(trials[1].parent, -1) << "nothing had ended when it began";
  ASSERT_NE(trials[1].values, setup_.configured);
  for (const auto& value : assignments(setup_.keys, trials[1].values))
    EXPECT_NE(read("words-0001").find("--set=" + value + '\n'), std::string::npos) << value;
}

/// As one beside the first trial does, or after trials that found nothing.
TEST_F(SearchOf, GivesATrialThatChangesTheConfigurationItsValues) {
  const auto words = trial_command(setup_, {.values = {0.02, 0.5}, .parent = -1}, "run", "cpu");
  for (const char* word : {"--set=optimizer.rate=0.02", "--set=augment.mosaic=0.5"})
    EXPECT_EQ(std::count(words.begin(), words.end(), word), 1) << word;
  for (const auto& word : trial_command(setup_, {.values = setup_.configured}, "run", "cpu"))
    EXPECT_EQ(word.find("optimizer.rate"), std::string::npos) << word;
}

/// Why a search of this folder cannot be opened as this one; empty when it can.
std::string refusal_of(const fs::path& path, const SearchPlan& plan, const std::string& configuration) {
  try {
    const SearchFolder folder(path, plan, configuration);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST_F(SearchOf, SaysWhichLineOfTheConfigurationDiffers) {
  const fs::path folder = folder_ / "lines";
  write_atomically(SearchFolder(folder, setup_.plan, "size: 64").table(), std::string("trial\n"));
  const auto expect = [&](const std::string& configuration, const std::string& words) {
    const std::string text = refusal_of(folder, setup_.plan, configuration);
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  expect("size: 96", "has 'size: 64', not 'size: 96'");
  expect("size: 64\n  batch: 8", "has nothing, not 'batch: 8'");
  expect("", "has 'size: 64', not nothing");
}

TEST_F(SearchOf, RefusesAPlanThatIsNone) {
  const fs::path folder = folder_ / "none";
  write_atomically(SearchFolder(folder, setup_.plan, "size: 64").table(), std::string("trial\n"));
  for (const char* text : {"[]", "{", "5", R"({"keys": 1, "configuration": 5})"}) {
    write_atomically(folder / "state/search.json", std::string(text));
    EXPECT_NE(refusal_of(folder, setup_.plan, "size: 64"), "") << text;
    EXPECT_THROW(read_plan(folder), InputError) << text;
  }
}

TEST_F(SearchOf, RefusesTheFolderOfAnotherSearch) {
  setup_.plan.trials = 1;
  search();
  const auto refusal = [&](const SearchPlan& plan, const std::string& configuration) {
    return refusal_of(folder_ / "out", plan, configuration);
  };
  SearchPlan other = setup_.plan;
  other.trials = 9;
  EXPECT_EQ(refusal(other, "size: 64\n"), "") << "more trials are the same search";
  for (const auto& [key, change] : std::map<std::string, std::function<void(SearchPlan&)>>{
           {"keys", [](SearchPlan& plan) { plan.keys.pop_back(); }},
           {"minutes", [](SearchPlan& plan) { plan.minutes = 3; }},
           {"epochs", [](SearchPlan& plan) { plan.epochs = 3; }}}) {
    SearchPlan changed = setup_.plan;
    change(changed);
    EXPECT_NE(refusal(changed, "size: 64\n").find("its " + key + " are"), std::string::npos) << key;
  }
  other.seed = 4;
  EXPECT_NE(refusal(other, "size: 64\n").find("seed"), std::string::npos);
  EXPECT_NE(refusal(setup_.plan, "size: 96\n").find("'size: 64', not 'size: 96'"), std::string::npos)
      << refusal(setup_.plan, "size: 96\n");
  fs::create_directories(folder_ / "photographs/2026");
  EXPECT_THROW(SearchFolder(folder_ / "photographs", setup_.plan, ""), InputError);
  EXPECT_EQ(read_plan(folder_ / "out").overrides.assignments, setup_.plan.overrides.assignments);
  EXPECT_THROW(read_plan(folder_ / "photographs"), InputError);
}

TEST_F(SearchOf, TellsTrialsOnTheCpuTheirShareOfTheThreads) {
  EXPECT_EQ(trial_environment(setup_), (std::vector<std::string>{"BRIGHTNET_UNLISTED=1"}));
  setup_.threads = 3;
  EXPECT_EQ(trial_environment(setup_),
            (std::vector<std::string>{"BRIGHTNET_UNLISTED=1", "OMP_NUM_THREADS=3"}));
}

TEST_F(SearchOf, NamesItsDataSetToEveryTrialAndWhenItIsResumed) {
  setup_.plan.data = "/photographs/data.yaml";
  SearchFolder(folder_ / "out", setup_.plan, "");
  EXPECT_EQ(read_plan(folder_ / "out").data, setup_.plan.data);
  const auto words = trial_command(setup_, {.values = setup_.configured}, "run", "cpu");
  const auto option = std::find(words.begin(), words.end(), "--data");
  ASSERT_NE(option, words.end());
  EXPECT_EQ(*(option + 1), setup_.plan.data);
}

TEST_F(SearchOf, IsResumedAsItWasPlanned) {
  setup_.plan.minutes = 1.5;
  setup_.plan.epochs = 0;
  SearchFolder(folder_ / "out", setup_.plan, "");
  const SearchPlan plan = read_plan(folder_ / "out");
  EXPECT_EQ(plan.config, "run.yaml");
  EXPECT_EQ(plan.keys, setup_.plan.keys);
  EXPECT_EQ(plan.minutes, 1.5);
  EXPECT_EQ(plan.epochs, 0);
  EXPECT_EQ(plan.seed, 3u);
  EXPECT_EQ(plan.trials, 6);
  const auto words = trial_command(setup_, {.values = setup_.configured}, "run", "cpu");
  EXPECT_EQ(std::count(words.begin(), words.end(), "--set=train.minutes=1.5"), 1);
  for (const std::string& word : words) EXPECT_EQ(word.find("train.epochs"), std::string::npos) << word;
}

TEST_F(SearchOf, IsResumedWithPathsThatAreNotUtf8) {
  setup_.plan.config = "caf\xe9.yaml";
  setup_.plan.data = "dat\xe9";
  setup_.plan.overrides.assignments = {"train.weights=b\xfbl\xe9.weights", "name=a b"};
  const fs::path folder = folder_ / "bytes";
  const std::string configuration = "name: caf\xe9\n";
  write_atomically(SearchFolder(folder, setup_.plan, configuration).table(), std::string("trial\n"));
  const SearchPlan plan = read_plan(folder);
  EXPECT_EQ(plan.config, setup_.plan.config);
  EXPECT_EQ(plan.data, setup_.plan.data);
  EXPECT_EQ(plan.overrides.assignments, setup_.plan.overrides.assignments);
  EXPECT_EQ(refusal_of(folder, plan, configuration), "");
}

TEST_F(SearchOf, ExpectsTheTrialsThatAreLeftToTakeAsLongAsThoseBefore) {
  const SearchFolder folder = open();
  EXPECT_LT(Search(setup_, folder).seconds_left(), 0) << "nobody knows";
  write_trials(folder.table(), setup_.keys,
               {{0, -1, setup_.configured, 0.3, 10, ""}, {1, 0, {0.02, 0.5}, 0.2, 20, ""}});
  EXPECT_DOUBLE_EQ(Search(setup_, folder).seconds_left(), 4 * 15);
  setup_.devices = {"cpu", "cpu"};
  EXPECT_DOUBLE_EQ(Search(setup_, folder).seconds_left(), 4 * 15 / 2.0) << "two at a time";
  setup_.plan.trials = 1;
  EXPECT_EQ(Search(setup_, folder).seconds_left(), 0);
}

TEST(SearchPlan, HasThirtyTrialsAsLongAsTheConfigurationSays) {
  EXPECT_EQ(SearchPlan().trials, 30);
  EXPECT_EQ(SearchPlan().minutes, 0);
  EXPECT_EQ(SearchPlan().epochs, 0);
}

TEST(BestTrial, IsTheFirstOfTheHighestScoreAboveZero) {
  EXPECT_EQ(best_of({}), nullptr);
  const std::vector<Trial> failed{{0, -1, {}, 0, 1, "it failed"}};
  EXPECT_EQ(best_of(failed), nullptr);
  const std::vector<Trial> trials{{3, 0, {}, 0.4, 1, ""}, {1, 0, {}, 0.4, 1, ""}, {2, 0, {}, 0.3, 1, ""}};
  EXPECT_EQ(best_of(trials)->number, 1);
}

TEST_F(SearchOf, RefusesATableThatIsNotItsOwn) {
  setup_.plan.trials = 2;
  search();
  const fs::path table = folder_ / "out/trials.csv";
  const auto other = choose_keys({"optimizer.rate", "augment.hue"});
  EXPECT_THROW(read_trials(table, other), InputError);
  const std::string whole = read_file(table), row = whole.substr(whole.rfind('\n', whole.size() - 2) + 1);
  for (const std::string& broken : {std::string("2,0,zero\n"), "1e300" + row.substr(row.find(','))}) {
    write_atomically(table, whole + broken);
    try {
      read_trials(table, setup_.keys);
      FAIL() << broken;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("trials.csv:4"), std::string::npos) << e.what();
    }
  }
}

TEST_F(SearchOf, ScoresATrialByItsEvaluationsAtTheFinalInputSize) {
  const fs::path run = folder_ / "grown";
  fs::create_directories(run);
  const auto outcome = [&](const std::string& rows) {
    write_atomically(run / "metrics.csv", "epoch,AP,input_height\n" + rows);
    return outcome_of(run, 0, folder_ / "log", BestBy::AP);
  };
  EXPECT_EQ(outcome("1,0.3,224\n2,0.25,416\n").score, 0.25);
  EXPECT_EQ(outcome("1,0.3,416\n2,0.25,416\n").score, 0.3);
  const TrialOutcome none = outcome("1,0.3,224\n2,,416\n");
  EXPECT_NE(none.failure.find("at its final input size"), std::string::npos) << none.failure;
}

TEST(DevicesOfJobs, AreGpusOfTheirOwnOrTheCpuForAll) {
  cuda::Installation none;
  EXPECT_EQ(devices_of_jobs("auto", 2, none), (std::vector<std::string>{"auto", "auto"}));
  EXPECT_EQ(devices_of_jobs("cpu", 2, none), (std::vector<std::string>{"cpu", "cpu"}));
  EXPECT_EQ(devices_of_jobs("cuda:1", 1, none), (std::vector<std::string>{"cuda:1"}));
  cuda::Installation two;
  two.built = two.gpu_files = true;
  two.architectures = {90};
  two.gpus.resize(2, {"Hopper", 9, 0, 1, 1, ""});
  for (const char* device : {"cuda", "auto"})
    EXPECT_EQ(devices_of_jobs(device, 2, two), (std::vector<std::string>{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices_of_jobs("cpu", 2, two), (std::vector<std::string>{"cpu", "cpu"}));
  EXPECT_EQ(devices_of_jobs("cuda", 1, two), (std::vector<std::string>{"cuda"}));
  EXPECT_THROW(devices_of_jobs("cuda:1", 2, two), InputError);
  EXPECT_THROW(devices_of_jobs("cuda", 3, two), DeviceError);
}

}  // namespace
}  // namespace brightnet
