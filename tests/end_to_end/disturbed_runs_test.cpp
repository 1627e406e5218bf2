// What disturbs a run: signals, other programs, files that cannot be written, a reader that leaves.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "formats/safetensors.h"
#include "tests/end_to_end/runs.h"
#include "train/report/metrics_csv.h"
#include "train/run/run_lock.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using DisturbedRuns = Runs;

TEST_F(DisturbedRuns, SayHowToGoOnWhenASignalStopsThem) {
  // 4000 epochs cannot be over when the signal comes.
  const Program program(train({"--out", "parts"}, {"train.epochs=4000"}), run_.folder());
  const fs::path metrics = run_.folder() / "parts/metrics.csv";
  for (int i = 0; i < 3000 && !(fs::exists(metrics) && read_file(metrics).find("\n2,") != std::string::npos);
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  program.signal(SIGHUP);  // as a terminal does that is closed
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.code, 4) << stopped.err;
  EXPECT_NE(stopped.err.find("brightnet train --resume parts"), std::string::npos) << stopped.err;
  EXPECT_TRUE(fs::exists(run_.folder() / "parts/state/state.safetensors"));
}

// The program died of it where it waited for the GPUs' answer, which takes three minutes when one hangs.
TEST_F(DisturbedRuns, EndInOrderWhenASignalComesWhileTheirGpusAreExamined) {
  const fs::path copy = run_.folder() / "brightnet", asked = run_.folder() / "asked",
                 metrics = run_.folder() / "parts/metrics.csv";
  const auto comes = [](const auto& there) {
    for (int i = 0; i < 3000 && !there(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return there();
  };
  fs::copy_file(testing::program(), copy);
  const Program program(copy.string(), train({"--out", "parts", "--restarts", "3"}, {"train.epochs=40000"}),
                        run_.folder());
  ASSERT_TRUE(
      comes([&] { return fs::exists(metrics) && read_file(metrics).find("\n2,") != std::string::npos; }));
  // What replaces the program is the one that is asked for the GPUs, and gives no answer.
  const fs::path silent = run_.folder() / "silent";
  write_atomically(silent, "#!/bin/sh\necho $$ $* > asked.tmp\nmv asked.tmp asked\nexec sleep 600\n");
  fs::permissions(silent, fs::perms::owner_all);
  fs::rename(silent, copy);
  const std::string process = std::to_string(program.process());
  pid_t child = 0, examiner = 0;
  std::ifstream("/proc/" + process + "/task/" + process + "/children") >> child;
  ASSERT_GT(child, 0);
  ::kill(child, SIGKILL);
  ASSERT_TRUE(comes([&] { return fs::exists(asked); })) << program.err_so_far();
  const std::string words = read_file(asked);
  EXPECT_NE(words.find(" doctor --gpus"), std::string::npos) << words;
  std::istringstream(words) >> examiner;
  program.signal(SIGTERM);
  // A process that has ended has no command line. Without the signal this one is waited for for three minutes.
  const auto has_ended = [&] {
    std::string word;
    return !(std::ifstream("/proc/" + std::to_string(examiner) + "/cmdline") >> word);
  };
  EXPECT_TRUE(comes(has_ended)) << "it was left behind";
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.code, 4) << stopped.err;
  EXPECT_NE(
      stopped.err.find("Stopped by a signal before the restart. Resume with: brightnet train --resume "),
      std::string::npos)
      << stopped.err;
}

TEST_F(DisturbedRuns, AreWatchedAlsoWhereAMappingAsksForRestarts) {
  std::vector<std::string> settings{"train={restarts: 2}"};
  for (const std::string& setting : SmallRun::short_run({"train.epochs=40000"})) settings.push_back(setting);
  const Program program(
      with_settings({"train", "--model", "model.yaml", "--data", "data", "--out", "parts"}, settings),
      run_.folder());
  const fs::path metrics = path("parts/metrics.csv");
  for (int i = 0; i < 3000 && !(fs::exists(metrics) && read_file(metrics).find("\n2,") != std::string::npos);
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string process = std::to_string(program.process());
  pid_t child = 0;
  std::ifstream("/proc/" + process + "/task/" + process + "/children") >> child;
  EXPECT_GT(child, 0) << "it trains itself";
  program.signal(SIGTERM);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.code, 4) << stopped.err;
}

TEST_F(DisturbedRuns, MayHaveTheirConfigurationBehindTwoDashes) {
  std::vector<std::string> words =
      with_settings({"train", "--restarts", "1", "--out", "parts"}, SmallRun::short_run({"train.epochs=1"}));
  words.insert(words.end(), {"--", "run.yaml"});
  const ProgramResult trained = run(words);
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(DisturbedRuns, ResumedAfterASignalEqualUndisturbedOnes) {
  const std::vector<std::string> settings{"train.epochs=30", "evaluate.every=10"};
  ASSERT_EQ(run(train({"--out", "whole"}, settings)).code, 0);
  std::vector<int64_t> stops;  // in steps of the run
  bool within_an_epoch = false;
  ProgramResult result;
  for (int part = 0; part < 40; ++part) {
    const Program program(part == 0 ? train({"--out", "parts"}, settings)
                                    : std::vector<std::string>{"train", "--resume", "parts"},
                          run_.folder());
    // As soon as it trains, and it is listening then.
    for (int i = 0;
         i < 3000 && program.err_so_far().find(part == 0 ? "Training in" : "Resuming") == std::string::npos;
         ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * part));
    if (part < 6 || (part < 30 && !within_an_epoch)) program.signal(part % 2 ? SIGTERM : SIGINT);
    result = program.wait();
    if (result.code != 4) break;
    const SafetensorsReader state(run_.folder() / "parts/state/state.safetensors");
    const Json progress = Json::parse(state.metadata("progress"));
    stops.push_back(progress["iteration"]);
    within_an_epoch |= progress["step"].get<int>() % 3 != 0;
  }
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_GE(stops.size(), 2u);
  // A run that was stopped before an epoch's evaluation may be stopped there again.
  EXPECT_TRUE(std::is_sorted(stops.begin(), stops.end()));
  EXPECT_GT(stops.back(), stops.front());
  EXPECT_LT(stops.back(), 90);
  EXPECT_TRUE(within_an_epoch);
  for (const char* weights : {"weights/last.safetensors", "weights/best.safetensors"})
    EXPECT_EQ(file(std::string("whole/") + weights), file(std::string("parts/") + weights)) << weights;
  const MetricsTable whole = read_metrics_csv(run_.folder() / "whole/metrics.csv"),
                     parts = read_metrics_csv(run_.folder() / "parts/metrics.csv");
  ASSERT_EQ(whole.rows.size(), 30u);
  ASSERT_EQ(parts.rows.size(), 30u);
  for (const char* name :
       {"box_loss", "objectness_loss", "class_loss", "loss", "iou", "learning_rate", "AP", "AP50", "AP75",
        "AR", "val_box", "val_objectness", "val_class", "val_loss", "precision", "recall", "ap_square"}) {
    const auto column = static_cast<size_t>(whole.column(name));
    for (size_t i = 0; i < 30; ++i) {
      const double expected = whole.rows[i][column], actual = parts.rows[i][column];
      EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
          << name << " of epoch " << i + 1 << ": " << actual << " instead of " << expected;
    }
  }
}

TEST_F(DisturbedRuns, AreLeftAloneWhileAnotherProgramHasThem) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  {
    const RunLock lock(RunFolder::open(run_.folder() / "runs/run"));
    const ProgramResult second = run({"train", "--resume", "runs/run"});
    EXPECT_EQ(second.code, 2) << second.err;
    EXPECT_NE(second.err.find("is training in this folder"), std::string::npos) << second.err;
  }
  EXPECT_EQ(run({"train", "--resume", "runs/run"}).code, 0);
}

TEST_F(DisturbedRuns, SayWhichFileTheyCannotWrite) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  const fs::path log = run_.folder() / "runs/run/train.log";
  fs::remove(log);
  fs::create_directory(log);  // not even root can write there
  const ProgramResult resumed = run({"train", "--resume", "runs/run"});
  EXPECT_EQ(resumed.code, 2) << resumed.err;
  EXPECT_NE(resumed.err.find("train.log"), std::string::npos) << resumed.err;
  EXPECT_EQ(resumed.err.find("bug"), std::string::npos) << resumed.err;
}

TEST_F(DisturbedRuns, TellOfALimitOnFileSizes) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit low{1 << 15, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &low);
  const Program program(train({"--out", "limited"}, {"train.iterations=1"}), run_.folder());
  ::setrlimit(RLIMIT_FSIZE, &before);
  const ProgramResult limited = program.wait();
  EXPECT_EQ(limited.code, 2) << limited.err;
  EXPECT_NE(limited.err.find("File too large"), std::string::npos) << limited.err;
}

TEST_F(DisturbedRuns, OutliveTheReaderOfTheirMessages) {
  std::string words = program().string();
  for (const auto& word : train({"--out", "heard"}, {"train.epochs=3"})) words += " '" + word + "'";
  const ProgramResult piped =
      Program("bash", {"-c", words + " 2>&1 | head -1; exit ${PIPESTATUS[0]}"}, run_.folder()).wait();
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_NE(file("heard/train.log").find("epoch 3/3"), std::string::npos);
}

}  // namespace
}  // namespace brightnet::testing
