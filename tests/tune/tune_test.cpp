// What a search makes of its options and its configuration, with a script in brightnet's place.
#include "brightnet/tune.h"

#include <stop_token>

#include "core/json.h"
#include "core/threads.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class SearchValues : public ::testing::Test {
 protected:
  /// The answer of a search of one trial, whose run is a script that keeps its words and the number of its threads, and
  /// scores AP 0.2 and AP50 0.4.
  Json search(const std::vector<std::string>& settings, SearchOptions options) {
    options.program = run_.folder() / "program";
    options.keys = {"optimizer.rate"};
    options.trials = 1;
    write_atomically(options.program,
                     "#!/bin/sh\nfor word in \"$@\" threads=$OMP_NUM_THREADS; do echo \"$word\"; done > " +
                         (run_.folder() / "words").string() +
                         "\nmkdir -p \"$4\"\nprintf 'epoch,AP,AP50\\n1,0.2,0.4\\n' > \"$4/metrics.csv\"\n");
    fs::permissions(options.program, fs::perms::owner_all);
    const fs::path out = run_.folder() / "out";
    fs::remove_all(out);
    Answer answer;
    EXPECT_TRUE(search_values({.run = {.config = run_.config().string(), .data = data_, .settings = settings},
                               .device = "cpu",
                               .folder = out,
                               .found = [&](const Answer& found) { answer = found; }},
                              options));
    text_ = answer.text;
    return Json::parse(answer.json);
  }
  /// Whether the trial was given this word.
  bool has_word(const std::string& word) const {
    return read_file(run_.folder() / "words").find('\n' + word + '\n') != std::string::npos;
  }

  SmallRun run_;
  std::string data_, text_;
};

TEST_F(SearchValues, JudgesTrialsByTheScoreThatTheConfigurationIsBestBy) {
  EXPECT_EQ(search({}, {.epochs = 1})["score"], 0.2);
  EXPECT_EQ(search({"evaluate.best_by=AP50"}, {.epochs = 1})["score"], 0.4);
  EXPECT_NE(text_.find("AP50"), std::string::npos) << text_;
}

TEST_F(SearchValues, GivesEachTrialTheLengthThatItIsToldTo) {
  search({}, {.minutes = 1.5});
  EXPECT_TRUE(has_word("--set=train.minutes=1.5"));
  EXPECT_FALSE(has_word("--set=train.minutes=0"));
  search({}, {.epochs = 7});
  EXPECT_TRUE(has_word("--set=train.epochs=7"));
  EXPECT_TRUE(has_word("--set=train.minutes=0"));
}

TEST_F(SearchValues, RefusesAnotherLengthThanTheSettingsSay) {
  const auto refused = [&](const SearchOptions& options, const std::string& setting) {
    try {
      search_values({.run = {.config = run_.config().string(), .settings = {setting}},
                     .device = "cpu",
                     .folder = run_.folder() / "out"},
                    options);
      ADD_FAILURE() << setting;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("--set " + setting + ' '), std::string::npos) << error.what();
    }
    EXPECT_FALSE(fs::exists(run_.folder() / "out"));
  };
  refused({.epochs = 7}, "train.epochs=8");
  refused({.epochs = 7}, "train.minutes=2");
  refused({.epochs = 7}, "train.iterations=20");
  refused({.minutes = 1.5}, "train.minutes=2");
  search({"train.epochs=7"}, {.epochs = 7});
  search({"train.minutes=1.5", "train.epochs=100"}, {.minutes = 1.5});
}

TEST_F(SearchValues, ResumedOnesRefuseWhatTheyWouldNotHeed) {
  search({}, {.epochs = 1});
  const fs::path folder = run_.folder() / "out", other = run_.folder() / "other";
  const auto words_of = [&](const fs::path& out, SearchOptions options) {
    options.program = run_.folder() / "program";
    options.resumed = folder;
    try {
      search_values({.device = "cpu", .folder = out}, options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  const auto refused = [](const std::string& words, const std::string& option) {
    EXPECT_TRUE(words.starts_with(option + ": a search that is resumed keeps its own")) << words;
  };
  refused(words_of(other, {}), "--out");
  refused(words_of("", {.keys = {"optimizer.rate"}}), "--keys");
  refused(words_of("", {.minutes = 1}), "--minutes");
  refused(words_of("", {.epochs = 1}), "--epochs");
  refused(words_of("", {.seed = 1}), "--seed");
  EXPECT_FALSE(fs::exists(other));
}

// Of an earlier version, in which --epochs won.
TEST_F(SearchValues, ResumesAPlanWhoseSettingsSayAnotherLength) {
  search({}, {.epochs = 7});
  const fs::path file = run_.folder() / "out/state/search.json";
  Json plan = Json::parse(read_file(file));
  plan["assignments"].push_back("train.epochs=8");
  write_atomically(file, plan.dump());
  fs::remove(run_.folder() / "out/trials.csv");
  EXPECT_TRUE(search_values({.device = "cpu"},
                            {.program = run_.folder() / "program", .resumed = run_.folder() / "out"}));
  EXPECT_TRUE(has_word("--set=train.epochs=7"));
}

TEST_F(SearchValues, SaysHowToTrainWithTheBestValuesSoThatAShellReadsIt) {
  search({}, {.epochs = 1});
  const Logged logged;
  const fs::path folder = run_.folder() / "my search ä";
  EXPECT_TRUE(search_values(
      {.run = {.config = run_.config().string()}, .device = "cpu", .folder = folder},
      {.program = run_.folder() / "program", .keys = {"optimizer.rate"}, .trials = 1, .epochs = 1}));
  EXPECT_NE(logged.text().find("brightnet train '" + (folder / "config.yaml").string() + "'\n"),
            std::string::npos)
      << logged.text();
}

// A host's later messages were written into it, and the program's last word must be.
TEST_F(SearchValues, EndsItsLogAlsoWhereItIsStoppedOrFails) {
  TuneOptions options{
      .run = {.config = run_.config().string()}, .device = "cpu", .folder = run_.folder() / "log"};
  const SearchOptions one_trial{
      .program = run_.folder() / "program", .keys = {"optimizer.rate"}, .trials = 1, .epochs = 1};
  const auto log_after = [&](const std::string& message) {
    log::info("{}", message);
    return read_file(options.folder / "tune.log");
  };
  search({}, {.epochs = 1});  // writes the program
  std::stop_source stopped;
  stopped.request_stop();
  options.can_be_stopped = [&] { return stopped.get_token(); };
  EXPECT_FALSE(search_values(options, one_trial));
  std::string text = log_after("said after the stop");
  EXPECT_NE(text.find("Stopped by a signal"), std::string::npos) << text;
  EXPECT_EQ(text.find("said after"), std::string::npos) << text;
  options.can_be_stopped = {};
  options.found = [](const Answer&) { throw InputError("the answer is not taken"); };
  EXPECT_THROW(search_values(options, one_trial), InputError);
  text = log_after("said after the failure");
  EXPECT_TRUE(text.ends_with(" error the answer is not taken.\n")) << text;
}

/// More time would not help a program that ends at once.
TEST_F(SearchValues, EndsWithAnErrorWhereEveryTrialFailed) {
  const auto error_of = [&](const std::string& end, const std::string& out) {
    const fs::path program = run_.folder() / "program";
    write_atomically(program, "#!/bin/sh\n" + end + '\n');
    fs::permissions(program, fs::perms::owner_all);
    const Logged logged;
    std::pair<std::string, ExitCode> said{"nothing", ExitCode::done};
    try {
      search_values(
          {.run = {.config = run_.config().string()}, .device = "cpu", .folder = run_.folder() / out},
          {.program = program, .keys = {"optimizer.rate"}, .trials = 2, .epochs = 1});
    } catch (const Error& error) {
      said = {error.what(), error.code()};
      EXPECT_EQ(logged.text().find("--minutes"), std::string::npos) << logged.text();
    }
    return said;
  };
  const auto [crashed, internal] = error_of("exit 1", "crashed");
  EXPECT_EQ(internal, ExitCode::internal);
  EXPECT_NE(crashed.find("all 2 trials failed; of trial 0: it ended with exit code 1."), std::string::npos)
      << crashed;
  EXPECT_NE(crashed.find("crashed/trials/0000.log"), std::string::npos) << crashed;
  const auto [killed, input] = error_of("kill -9 $$", "killed");
  EXPECT_EQ(input, ExitCode::input);
  EXPECT_NE(killed.find("it was ended by signal 9. The system"), std::string::npos) << killed;
  // Of these more time may help.
  const std::string none = "mkdir -p \"$4\"; printf 'epoch,AP,AP50\\n1,,\\n' > \"$4/metrics.csv\"";
  EXPECT_EQ(error_of(none + "; exit 0", "short").first, "nothing");
}

TEST_F(SearchValues, DividesTheThreadsAmongTrialsSideBySide) {
  const int before = compute_threads();
  omp_set_num_threads(6);
  search({}, {.epochs = 1, .jobs = 2});
  omp_set_num_threads(before);
  EXPECT_TRUE(has_word("threads=3")) << read_file(run_.folder() / "words");
}

// It may be resumed from there.
TEST_F(SearchValues, NamesEachOfSeveralPlacesOfDataAsItIsFoundFromAnotherFolder) {
  for (const char* part : {"images", "labels"}) {
    fs::create_directories(run_.folder() / "mine" / part);
    fs::copy(run_.folder() / "data" / part / "val", run_.folder() / "mine" / part / "all");
  }
  write_atomically(run_.folder() / "mine/classes.txt", std::string("circle\nsquare\n"));
  data_ = "mine,mine";
  const fs::path before = fs::current_path();
  fs::current_path(run_.folder());
  const std::string mine = fs::absolute("mine").string();
  search({}, {.epochs = 1});
  fs::current_path(before);
  EXPECT_TRUE(has_word(mine + ',' + mine)) << read_file(run_.folder() / "words");
}

}  // namespace
}  // namespace brightnet::testing
