// Which samples a trainer takes: those of the seed, and in the last part of the run whole images.
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/train/distributed/thread_ranks.h"
#include "tests/train/small_training.h"
#include "train/distributed/solo.h"

namespace brightnet::testing {
namespace {

/// Notes the pixels of each micro-batch.
class PixelsOf : public TrainingObserver {
 public:
  std::string name() const override { return "the pixels"; }
  void batch_loaded(const BatchLoaded& event) override {
    const Batch& batch = event.batch;
    const size_t bytes = static_cast<size_t>(batch.count) * batch.height * batch.width * batch.channels;
    all.push_back(std::hash<std::string_view>()({reinterpret_cast<const char*>(batch.pixels), bytes}));
  }
  void step_done(const StepDone& event) override {
    if (event.status.iteration == stop_at) stop.request_stop();
  }

  std::vector<size_t> all;
  int64_t stop_at = 0;
  std::stop_source stop;
};

/// Of a run of three steps an epoch, of two micro-batches each, that is asked to stop after these steps and resumed. Its
/// first weights are not of the seed.
std::vector<size_t> pixels(const SmallRun& run, const std::vector<std::string>& options,
                           const std::set<int64_t>& interruptions = {}) {
  const RunConfig config = run.load(options);
  const std::filesystem::path folder = run.folder() / "out";
  std::vector<size_t> all;
  std::set<int64_t> stops = interruptions;
  stops.insert(0);
  for (auto stop = std::next(stops.begin());; ++stop) {
    const bool last = stop == stops.end(), old = std::filesystem::exists(folder);
    SmallTraining training(config, folder, old);
    training.watched_by = WatchedBy::nobody;
    PixelsOf seen;
    if (!last) seen.stop_at = *stop;
    training.observers_besides = {&seen};
    Trainer trainer = training.make(initial_parameters(training.model, training.layout, 1));
    if (old) trainer.resume();
    EXPECT_EQ(trainer.run(seen.stop.get_token()), last ? TrainingEnd::finished : TrainingEnd::interrupted);
    all.insert(all.end(), seen.all.begin(), seen.all.end());
    if (last) break;
  }
  std::filesystem::remove_all(folder);
  return all;
}

TEST(TrainerSamples, AreWholeImagesInTheLastPartOfTheRunAlone) {
  const SmallRun run;
  const auto of_part = [&](const char* part, const std::set<int64_t>& interruptions = {}) {
    return pixels(run, {"train.epochs=3", "augment.mosaic=1", std::string("augment.mosaic_off=") + part},
                  interruptions);
  };
  const std::vector<size_t> whole = of_part("1"), closed = of_part("0.3");
  ASSERT_EQ(whole.size(), 18u);
  ASSERT_EQ(closed.size(), 18u);
  // The last two of nine steps.
  for (size_t i = 0; i < 18; ++i) EXPECT_EQ(closed[i] == whole[i], i >= 14) << "micro-batch " << i;
  EXPECT_EQ(of_part("0.3", {4, 7}), closed) << "of a run that is resumed, too";
}

TEST(TrainerSamples, OfTwoRanksAreThoseOfOneDividedBetweenThem) {
  const SmallRun run;
  const std::vector<std::string> options{"train.epochs=1"};
  const std::vector<size_t> alone = pixels(run, options);
  ASSERT_EQ(alone.size(), 6u);
  const std::filesystem::path folder = run.folder() / "out";
  SmallTraining first(run.load(options), folder), second(run.load(options), folder, true);
  std::vector<std::vector<size_t>> seen(2);
  on_ranks(2, [&](Communicator& ranks) -> std::string {
    SmallTraining& training = ranks.leads() ? first : second;
    PixelsOf watcher;
    SoloCollectives unsummed;
    const TrainingSetup setup{.config = training.config,
                              .model = training.model,
                              .train = training.train,
                              .val = training.val,
                              .backend = *training.backend,
                              .folder = training.folder,
                              .files = training.files,
                              .communicator = ranks,
                              .collectives = unsummed,
                              .observers = {&watcher}};
    Trainer trainer(setup, training.layout, initial_parameters(training.model, training.layout, 1));
    EXPECT_EQ(trainer.run(), TrainingEnd::finished);
    seen[static_cast<size_t>(ranks.rank())] = watcher.all;
    return "";
  });
  for (const std::vector<size_t>& of_rank : seen) ASSERT_EQ(of_rank.size(), 3u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(seen[i % 2][i / 2], alone[i]) << "half " << i % 2 << " of a batch";
}

TEST(TrainerSamples, AreThoseOfTheSeed) {
  const SmallRun run;
  const auto of_seed = [&](const char* seed) {
    return pixels(run, {"train.epochs=1", std::string("train.seed=") + seed});
  };
  const std::vector<size_t> zero = of_seed("0"), one = of_seed("1");
  EXPECT_EQ(of_seed("1"), one);
  ASSERT_EQ(zero.size(), one.size());
  for (size_t i = 0; i < zero.size(); ++i) EXPECT_NE(zero[i], one[i]) << "micro-batch " << i;
}

}  // namespace
}  // namespace brightnet::testing
