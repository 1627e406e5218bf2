// The average of a run's best weights.
#include "train/loop/kept_sets.h"

#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

fs::path set_file(const fs::path& run, int64_t iteration) {
  return run / ("state/best-" + std::to_string(iteration) + ".safetensors");
}

TEST(KeptSets, AreEvaluatedOnceMoreWhereThereIsAnythingToAverage) {
  EXPECT_TRUE(evaluates_average(3, 2));
  EXPECT_FALSE(evaluates_average(3, 1));
  EXPECT_FALSE(evaluates_average(1, 9));
  EXPECT_FALSE(evaluates_average(0, 9));
}

TEST(KeptSets, AreTheBestAndOfEqualScoresTheLater) {
  std::vector<KeptSet> kept;
  const auto steps = [&] {
    std::vector<int64_t> out;
    for (const KeptSet& set : kept) out.push_back(set.iteration);
    std::sort(out.begin(), out.end());
    return out;
  };
  keep_set(kept, {1, 0.5}, 2);
  keep_set(kept, {2, 0.3}, 2);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2}));
  keep_set(kept, {3, 0.3}, 2);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 3})) << "as good as the second, and later";
  keep_set(kept, {4, 0.2}, 2);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 3})) << "not among the best";
  keep_set(kept, {5, 0.5}, 2);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 5}));
  keep_set(kept, {6, 0.9}, 0);
  EXPECT_TRUE(kept.empty()) << "no averages";
}

TEST(KeptSets, AreAveragedFromTheirFiles) {
  const SmallRun run;
  const RunFolder folder = RunFolder::create(run.folder() / "out");
  OutputFiles files;
  KeptSets sets(folder, files, 2);
  const std::vector<KeptSet> kept{{3, 0.5}, {1, 0.4}};
  sets.add(1, {1, 10}, kept);
  sets.add(3, {2, 30}, kept);
  KeptSets later(folder, files, 2);  // a resumed run
  EXPECT_EQ(later.mean(kept), std::make_pair(std::vector<float>{1.5f, 20}, 2));
  fs::remove(set_file(folder.path(), 3));
  const testing::Logged logged;
  EXPECT_EQ(later.mean(kept), std::make_pair(std::vector<float>{1, 10}, 1));
  EXPECT_NE(logged.text().find("step 3"), std::string::npos);
}

TEST(KeptSets, StayInMemoryWhileTheyCannotBeWrittenAndAreWanted) {
  const SmallRun run;
  const RunFolder folder = RunFolder::create(run.folder() / "out");
  const fs::path state = folder.state().parent_path();
  fs::remove(state);
  write_atomically(state, "");
  OutputFiles files;
  KeptSets sets(folder, files, 1);
  sets.add(1, {1}, {{1, 0.1}});
  sets.add(2, {2}, {{1, 0.1}, {2, 0.2}});
  sets.add(3, {3}, {{2, 0.2}, {3, 0.3}});  // the first is no longer among the best
  EXPECT_EQ(sets.mean({{2, 0.2}, {3, 0.3}}), std::make_pair(std::vector<float>{2.5f}, 2));
  fs::remove(state);
  fs::create_directory(state);
  files.retry();
  EXPECT_TRUE(files.all_written());
  EXPECT_FALSE(fs::exists(set_file(folder.path(), 1)));
  EXPECT_TRUE(fs::exists(set_file(folder.path(), 2)));
  EXPECT_EQ(sets.mean({{2, 0.2}, {3, 0.3}}), std::make_pair(std::vector<float>{2.5f}, 2));
}

TEST(KeptSets, AreRemovedOnceAStateIsSavedThatDoesNotListThem) {
  const SmallRun run;
  const RunFolder folder = RunFolder::create(run.folder() / "out");
  OutputFiles files;
  KeptSets sets(folder, files, 1);
  for (int epoch = 1; epoch <= 3; ++epoch) sets.add(epoch, {1}, {{epoch, 0}});
  for (int epoch = 1; epoch <= 3; ++epoch) EXPECT_TRUE(fs::exists(set_file(folder.path(), epoch)));
  write_atomically(folder.state(), "the state");
  sets.remove_others({{2, 0}, {3, 0}});
  EXPECT_FALSE(fs::exists(set_file(folder.path(), 1)));
  EXPECT_TRUE(fs::exists(set_file(folder.path(), 2)));
  EXPECT_TRUE(fs::exists(folder.state()));
}

TEST(AveragedWeights, AreOfTheAveragedParametersOfTheBestEpochs) {
  SmallRun run;
  SmallTraining training(run.load({"train.epochs=2", "train.average=2"}), run.folder() / "out");
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  ASSERT_EQ(trainer.progress().kept.size(), 2u);
  EXPECT_TRUE(trainer.progress().averaged);
  EXPECT_TRUE(fs::exists(set_file(training.folder.path(), 3)));
  // The set of the last epoch is the moving average and not the raw weights.
  const auto set = tensors_of(set_file(training.folder.path(), 6)).at("values");
  EXPECT_EQ(set, tensors_of(training.folder.state()).at("ema"));
  EXPECT_NE(set, tensors_of(training.folder.state()).at("values"));
}

/// A finished run whose best evaluations detected nothing, and whose kept sets are `good` plus and minus
/// something in every parameter, so that their mean is `good`: the running statistics included.
void pretend_average_is_good(const SmallTraining& training, const std::vector<float>& good) {
  change_state(training, [](RunState& state) {
    state.progress.averaged = false;
    state.progress.kept = {{1, 0}, {2, 0}};
    state.best->AP = state.best->AP50 = 0;
  });
  for (const int sign : {-1, 1}) {
    std::vector<float> set = good;
    for (float& value : set) value += static_cast<float>(sign) * 0.5f;
    write_safetensors(
        set_file(training.folder.path(), sign < 0 ? 1 : 2),
        std::vector<SafetensorsEntry>{{"values", {static_cast<int64_t>(set.size())}, set.data()}}, {});
  }
}

TEST(AveragedWeights, AreWrittenWhenTheyScoreBetterThanTheBest) {
  SmallRun run;
  const RunConfig config = run.load({"train.average=2", "optimizer.rate=1e-20", "head.assignment=model"});
  SmallTraining training(config, run.folder() / "out");
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  EXPECT_FALSE(fs::exists(training.folder.averaged())) << "it scores the same";
  const auto state_before = tensors_of(training.folder.state());

  const TrainedModel good = load_trained_model(write_small_weights(run));
  pretend_average_is_good(training, good.values);
  {  // A signal that is there before the evaluation: the run says so, and the average stays due.
    SmallTraining again(config, training.folder.path(), true);
    Trainer trainer = again.make();
    trainer.resume();
    ASSERT_TRUE(trainer.over());
    ASSERT_TRUE(trainer.average_due());
    std::stop_source stop;
    stop.request_stop();
    ASSERT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
    EXPECT_FALSE(fs::exists(training.folder.averaged()));
  }
  SmallTraining again(config, training.folder.path(), true);
  Trainer trainer = again.make();
  trainer.resume();
  ASSERT_TRUE(trainer.average_due());
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_FALSE(trainer.average_due());
  EXPECT_GT(trainer.progress().averaged_score, 0);
  const TrainedModel averaged = load_trained_model(training.folder.averaged());
  EXPECT_EQ(averaged.training.at("AP"), std::to_string(trainer.progress().averaged_score));
  ASSERT_EQ(averaged.values.size(), good.values.size());
  {  // The confidence is its own, not that of the best weights, which detected nothing.
    SmallTraining of_average(config, run.folder() / "average");
    const auto metrics = of_average.make(averaged.values).evaluate(of_average.val, {});
    ASSERT_TRUE(metrics);
    EXPECT_EQ(trainer.progress().averaged_confidence, metrics->best.score);
    EXPECT_GT(metrics->best.f1, 0);
    EXPECT_NE(averaged.training.at("AP50"), averaged.training.at("AP"));
    EXPECT_EQ(averaged.training.at("AP50"), std::to_string(metrics->AP50));
  }
  for (size_t i = 0; i < good.values.size(); ++i)
    ASSERT_NEAR(averaged.values[i], good.values[i], 1e-6) << "parameter " << i;
  EXPECT_EQ(tensors_of(training.folder.state()), state_before) << "the run's own parameters are as before";

  SmallTraining once_more(config, training.folder.path(), true);
  Trainer resumed = once_more.make();
  resumed.resume();
  EXPECT_FALSE(resumed.average_due());
  EXPECT_EQ(resumed.progress().averaged_score, trainer.progress().averaged_score);
  EXPECT_EQ(resumed.progress().averaged_confidence, trainer.progress().averaged_confidence);
}

TEST(AveragedWeights, DoNotReplaceAnEarlierAverageThatScoredBetter) {
  SmallRun run;
  const RunConfig config = run.load({"train.average=2", "optimizer.rate=1e-20", "head.assignment=model"});
  SmallTraining training(config, run.folder() / "out");
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  pretend_average_is_good(training, load_trained_model(write_small_weights(run)).values);
  constexpr double above_all = 1.5;
  change_state(training, [](RunState& state) { state.progress.averaged_score = above_all; });
  fs::copy_file(training.folder.last(), training.folder.averaged());
  const std::string earlier = read_file(training.folder.averaged());

  SmallTraining again(config, training.folder.path(), true);
  Trainer trainer = again.make();
  trainer.resume();
  ASSERT_TRUE(trainer.average_due());
  const testing::Logged logged;
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_NE(logged.text().find("no better than an earlier average (1.5000)"), std::string::npos)
      << logged.text();
  EXPECT_EQ(trainer.progress().averaged_score, above_all);
  EXPECT_EQ(read_file(training.folder.averaged()), earlier);
}

TEST(AveragedWeights, AreTriedAgainAtTheEndOfARunThatWasMadeLonger) {
  SmallRun run;
  SmallTraining training(run.load({"train.epochs=2", "train.average=2"}), run.folder() / "out");
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  ASSERT_TRUE(trainer.progress().averaged);
  SmallTraining longer(run.load({"train.epochs=3", "train.average=2"}), training.folder.path(), true);
  Trainer resumed = longer.make();
  resumed.resume();
  EXPECT_FALSE(resumed.progress().averaged);
  EXPECT_FALSE(resumed.average_due()) << "it trains first";
  ASSERT_EQ(resumed.run(), TrainingEnd::finished);
  EXPECT_TRUE(resumed.progress().averaged);
}

// A run that was made longer: whoever uses its weights takes the average first.
TEST(AveragedWeights, AreGoneWhenBetterOnesHaveBeenFound) {
  SmallRun run;
  SmallTraining training(run.load({"train.epochs=1", "train.average=0"}), run.folder() / "out");
  ASSERT_EQ(training.make().run(), TrainingEnd::finished);
  int epochs = 1;
  for (const double averaged : {1.5, 0.0}) {  // no score is above 1, none below 0
    change_state(training, [averaged](RunState& state) {
      state.progress.averaged_score = averaged;
      state.progress.best_score = -0.5;
    });
    fs::copy_file(training.folder.last(), training.folder.averaged(), fs::copy_options::overwrite_existing);
    SmallTraining longer(run.load({"train.epochs=" + std::to_string(++epochs), "train.average=0"}),
                         training.folder.path(), true);
    Trainer trainer = longer.make();
    trainer.resume();
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    EXPECT_EQ(fs::exists(training.folder.averaged()), averaged > 1);
    EXPECT_EQ(trainer.progress().averaged_score, averaged > 1 ? averaged : -1);
  }
}

TEST(AveragedWeights, AreTheSameHoweverOftenTheRunWasInterrupted) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=4", "train.average=2"});
  SmallTraining whole(config, run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);
  const fs::path parts = run.folder() / "parts";
  TrainingEnd end = TrainingEnd::interrupted;
  for (int part = 0; end == TrainingEnd::interrupted; ++part) {
    SmallTraining training(config, parts, part > 0);
    Trainer trainer = training.make();
    if (part > 0) trainer.resume();
    std::stop_source stop;
    if (part < 5) stop.request_stop();
    end = trainer.run(stop.get_token());
    ASSERT_LT(part, 9);
  }
  int sets = 0;
  for (const int iteration : {3, 6, 9, 12}) {
    const fs::path file = set_file(whole.folder.path(), iteration);
    ASSERT_EQ(fs::exists(file), fs::exists(set_file(parts, iteration))) << iteration;
    if (!fs::exists(file)) continue;
    ++sets;
    EXPECT_EQ(read_file(file), read_file(set_file(parts, iteration))) << iteration;
  }
  EXPECT_EQ(sets, 2);
}

}  // namespace
}  // namespace brightnet::testing
