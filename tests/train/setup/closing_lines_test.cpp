// The last lines of a run: which weights they name, whose scores, and at which confidence to detect with them.
#include <regex>

#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A finished run of best weights that detect best at 0.25, and of an average that does at 0.75.
class ClosingLines : public ::testing::Test {
 protected:
  ClosingLines() {
    RunRequest request;
    request.config = run_.config().string();
    request.overrides = SmallRun::short_run({"train.epochs=1", "train.average=0"});
    request.out = (run_.folder() / "out").string();
    train(request);
    change_progress([](RunState& state) {
      state.best->best = {.precision = 0.5, .recall = 0.5, .f1 = 0.5, .score = 0.25};
      state.progress.averaged_score = 0.9;
      state.progress.averaged_confidence = 0.75;
    });
    fs::copy_file(folder().last(), folder().averaged());
  }
  static TrainedRun train(const RunRequest& request) {
    Communicator& alone = Communicator::solo();
    return run_training(request, common_device(alone, [] { return "cpu"; }), alone, {});
  }
  RunFolder folder() const { return RunFolder::at(run_.folder() / "out"); }
  void change_progress(const std::function<void(RunState&)>& change) const {
    change_state(SmallTraining(load_run_config(folder().config(), {}), folder().path(), true), change);
  }
  /// What the run says when it is resumed with these settings, which has nothing left to do.
  std::string lines(const std::vector<std::string>& settings = {}) const {
    RunRequest request;
    request.overrides.assignments = settings;
    request.resuming = true;
    request.resume = folder().path().string();
    const Logged logged;
    const TrainedRun ended = train(request);
    EXPECT_FALSE(ended.end);
    return logged.text();
  }
  /// The weights and what follows the folder of images in the command to detect with.
  static std::string advised(const std::string& lines) {
    std::smatch found;
    const std::regex command("brightnet detect --weights \\S*/(\\S+) --source FOLDER(.*)");
    return std::regex_search(lines, found, command) ? found.str(1) + found.str(2) : lines;
  }

  SmallRun run_;
};

TEST_F(ClosingLines, HaveTheConfidenceOfTheWeightsThatTheyName) {
  EXPECT_EQ(advised(lines()), "averaged.safetensors --conf 0.750");
  change_progress([](RunState& state) { state.progress.averaged_confidence = 0.03f; });
  EXPECT_EQ(advised(lines()), "averaged.safetensors --conf 0.030") << "the float is less than 0.03";
  change_progress([](RunState& state) { state.progress.averaged_confidence = 0.9996; });
  EXPECT_EQ(advised(lines()), "averaged.safetensors --conf 0.999") << "1.000 would find nothing";
  change_progress([](RunState& state) { state.progress.averaged_confidence = -1; });
  EXPECT_EQ(advised(lines()), "averaged.safetensors") << "the state of an earlier version";
  fs::remove(folder().averaged());
  EXPECT_EQ(advised(lines()), "best.safetensors --conf 0.250");
  fs::remove(folder().best());
  EXPECT_EQ(advised(lines()), "last.safetensors") << "nobody knows";
}

TEST_F(ClosingLines, SayOfWhichWeightsTheScoresAre) {
  const std::string with_average = lines();
  EXPECT_NE(
      with_average.find("Scores of the best weights, not of their average, which scores better:\nclass"),
      std::string::npos)
      << with_average;
  EXPECT_NE(with_average.find("scores better than they do (AP 0.9000): "), std::string::npos) << with_average;
  fs::remove(folder().averaged());
  const std::string alone = lines();
  EXPECT_NE(alone.find("Scores of the best weights:\nclass"), std::string::npos) << alone;
}

// As darknet counts.
TEST_F(ClosingLines, NameTheIterationOfTheBestWeightsWhereTheRunsLengthIsInIterations) {
  change_progress([](RunState& state) {
    state.progress.kept = {{1, 0.25}, {2, 0.5}, {3, 0.375}};
    state.progress.best_score = 0.5;
    state.progress.averaged = true;
  });
  const std::string in_epochs = lines(), in_iterations = lines({"train.iterations=3"});
  EXPECT_NE(in_epochs.find("Best weights (epoch 1"), std::string::npos) << in_epochs;
  EXPECT_NE(in_iterations.find("Best weights (iteration 2"), std::string::npos) << in_iterations;
}

}  // namespace
}  // namespace brightnet::testing
