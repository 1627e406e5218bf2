// Whole runs on several ranks against the same run on one.
#include <cmath>

#include "formats/safetensors.h"
#include "tests/distributed/job.h"
#include "tests/train/small_run.h"
#include "train/report/metrics_csv.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class TrainingOnRanks : public ::testing::Test {
 protected:
  TrainingOnRanks() { prepare_for_ranks(); }

  /// `brightnet train` into the folder `out`; each rank passes its whole part of a batch of 16 at once.
  static Words train_words(int ranks, const std::string& out, Words settings) {
    Words words{program().string(), "train", "run.yaml", "--out", out};
    settings.insert(settings.begin(), {"optimizer.kind=sgd", "train.batch=16",
                                       "train.micro_batch=" + std::to_string(16 / ranks)});
    return with_settings(words, SmallRun::short_run(settings));
  }
  ProgramResult train(int ranks, const std::string& out, const Words& settings = {}) {
    return run(ranks, train_words(ranks, out, settings));
  }
  ProgramResult run(int ranks, Words words) {
    if (ranks > 1) words = mpirun(ranks, words);
    return Program(words[0], {words.begin() + 1, words.end()}, run_.folder()).wait();
  }
  /// A number of the last epoch.
  double metric(const std::string& out, const std::string& name) {
    const auto table = read_metrics_csv(run_.folder() / out / "metrics.csv");
    return table.rows.back()[static_cast<size_t>(table.column(name))];
  }
  /// Trains 20 steps on one rank and on these numbers of them and demands the same weights and numbers of all.
  void expect_the_same_on_ranks(Words settings, const std::vector<int>& numbers = {2}) {
    settings.insert(settings.end(), {"train.iterations=20", "evaluate.every=10", "train.sync_bn=true"});
    ASSERT_EQ(train(1, "1", settings).code, 0);
    for (const int ranks : numbers) {
      const std::string out = std::to_string(ranks);
      const ProgramResult result = train(ranks, out, settings);
      ASSERT_EQ(result.code, 0) << result.err;
      EXPECT_LT(difference(out, "1"), 1e-5) << ranks << " ranks";
      for (const char* name : {"AP", "AP50", "AP75", "AR"}) EXPECT_EQ(metric(out, name), metric("1", name));
      EXPECT_NEAR(metric(out, "loss"), metric("1", "loss"), 1e-6 * metric("1", "loss"));
      EXPECT_NEAR(metric(out, "val_loss"), metric("1", "val_loss"), 1e-5 * metric("1", "val_loss"));
    }
  }
  fs::path last(const std::string& out) { return run_.folder() / out / "weights/last.safetensors"; }

  /// Largest over the tensors of ‖a − b‖/‖b‖.
  double difference(const std::string& a, const std::string& b) {
    SafetensorsReader first(last(a)), second(last(b));
    double largest = 0;
    for (const auto& [name, info] : second.tensors()) {
      const auto x = first.read(name), y = second.read(name);
      double between = 0, size = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        between += std::pow(static_cast<double>(x[i]) - y[i], 2);
        size += std::pow(static_cast<double>(y[i]), 2);
      }
      largest = std::max(largest, std::sqrt(between / std::max(size, 1e-30)));
    }
    return largest;
  }

  SmallRun run_{32, 7};
};

// Sums over the batch are the same to the last bit however it is divided. Anything less would show: leaky
// ReLU's kink and the rule that ignores good predictions turn rounding into other decisions within few steps.
TEST_F(TrainingOnRanks, EndsInTheWeightsOfOneRank) {
  expect_the_same_on_ranks({}, {2, 4});
}

TEST_F(TrainingOnRanks, EndsInTheWeightsOfOneRankWithTheDefaultOptimizer) {
  expect_the_same_on_ranks({"optimizer={kind: adamw}"});
}

TEST_F(TrainingOnRanks, EndsInTheWeightsOfOneRankWithTheDemonstrationsModel) {
  expect_the_same_on_ranks({"model=" + (source_dir() / "configs/models/demo.yaml").string()});
}

TEST_F(TrainingOnRanks, GivesTheSameBitsWithAndWithoutOverlap) {
  const Words settings{"train.iterations=6", "train.bucket_mb=0.01"};
  ASSERT_EQ(train(2, "overlapped", settings).code, 0);
  ASSERT_EQ(train(2, "again", settings).code, 0);
  Words off = settings;
  off.emplace_back("train.overlap=false");
  ASSERT_EQ(train(2, "afterwards", off).code, 0);
  EXPECT_EQ(read_file(last("overlapped")), read_file(last("again")));
  EXPECT_EQ(difference("overlapped", "afterwards"), 0);
}

TEST_F(TrainingOnRanks, EvaluatesToTheSameNumbersAsOne) {
  ASSERT_EQ(train(1, "one", {"train.epochs=10", "evaluate.every=10"}).code, 0);
  Words words{program().string(), "eval", "run.yaml", "--weights", last("one").string(), "--json"};
  std::vector<std::string> answers;
  for (const int ranks : {1, 2, 4}) {
    Words to_file = words;
    to_file.push_back("eval" + std::to_string(ranks) + ".json");
    const ProgramResult result = run(ranks, to_file);
    ASSERT_EQ(result.code, 0) << result.err;
    answers.push_back(read_file(run_.folder() / to_file.back()));
  }
  EXPECT_NE(answers[0].find("\"images\": 7"), std::string::npos) << answers[0];
  EXPECT_EQ(answers[1], answers[0]);
  EXPECT_EQ(answers[2], answers[0]);
}

TEST_F(TrainingOnRanks, GoesOnWithAnotherNumberOfRanks) {
  const Words settings{"train.epochs=3", "train.sync_bn=true"};
  ASSERT_EQ(train(1, "whole", settings).code, 0);
  // The signal is there before the first step on four ranks: one step is made and saved.
  const Words words = mpirun(4, train_words(4, "parts", settings));
  const Program parts(words[0], {words.begin() + 1, words.end()}, run_.folder());
  ASSERT_TRUE(wait_until([&] { return ranks_below(parts.process()).size() == 4; }));
  ASSERT_TRUE(wait_until([&] { return fs::exists(run_.folder() / "parts/train.log"); }));
  ::kill(ranks_below(parts.process()).at(2), SIGTERM);
  const ProgramResult stopped = parts.wait();
  ASSERT_EQ(stopped.code, 4) << stopped.err;
  EXPECT_NE(stopped.err.find("[0] Stopped by a signal after"), std::string::npos) << stopped.err;

  // Twice the images a rank, in micro-batches that make the same batch for batch-norm.
  const ProgramResult resumed = run(2, {program().string(), "train", "--resume", "parts"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("The run had 4 ranks"), std::string::npos) << resumed.err;
  EXPECT_EQ(resumed.err.find("Batch-norm computed"), std::string::npos) << resumed.err;
  EXPECT_LT(difference("parts", "whole"), 1e-5);
  const auto table = read_metrics_csv(run_.folder() / "parts/metrics.csv");
  const auto undisturbed = read_metrics_csv(run_.folder() / "whole/metrics.csv");
  ASSERT_EQ(table.rows.size(), 3u);
  const auto loss = static_cast<size_t>(table.column("loss"));
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_NEAR(table.rows[epoch][loss], undisturbed.rows[epoch][loss], 1e-4 * undisturbed.rows[epoch][loss])
        << "the sums of an epoch that was interrupted are those of the whole epoch";
  }
}

TEST_F(TrainingOnRanks, WritesOneRunFolderAndOneLog) {
  const ProgramResult result = train(2, "out", {"train.log_every=0.01"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("[0] epoch 2/2"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("comm-wait"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("[1]"), std::string::npos) << "other ranks are quiet: " << result.err;
  EXPECT_FALSE(fs::exists(run_.folder() / "out-2"));
  for (const char* name : {"weights/best.safetensors", "results.png", "val_pred0.jpg", "train_batch0.jpg"}) {
    EXPECT_TRUE(fs::exists(run_.folder() / "out" / name)) << name;
  }
}

TEST_F(TrainingOnRanks, StartsThemItself) {
  const Words words =
      with_settings({"train", "run.yaml", "--ranks", "2"}, SmallRun::short_run({"train.iterations=2"}));
  const ProgramResult result = Program(words, run_.folder()).wait();
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("on 2 ranks"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(run_.folder() / "runs/run/weights/last.safetensors"));
}

}  // namespace
}  // namespace brightnet::testing
