#include "train/loop/validation.h"

#include <fmt/format.h>

#include "kernels/cpu/cpu_backend.h"
#include "tests/train/distributed/thread_ranks.h"
#include "tests/train/small_training.h"
#include "train/distributed/agreement.h"
#include "train/distributed/solo.h"
#include "train/loop/training_step.h"
#include "train/setup/model.h"

namespace brightnet::testing {
namespace {

/// One without a network, for what it decides.
struct Decisions {
  Decisions() {
    config.evaluate.every = 1;
    config.train.patience = 0;
    config.evaluate.smooth = 1;
  }
  RunConfig config;
  Model model;
  Dataset dataset;
  Validation make() { return {config, model, dataset, Communicator::solo()}; }
};

Metrics scored(double AP, double AP50) {
  Metrics metrics;
  metrics.AP = AP;
  metrics.AP50 = AP50;
  return metrics;
}

TEST(Validation, IsDueEveryFewEpochsAndAtTheEnd) {
  Decisions run;
  run.config.evaluate.start = 3;
  run.config.evaluate.every = 2;
  const Validation validation = run.make();
  std::string due;
  for (int epoch = 1; epoch <= 8; ++epoch) due += validation.due(epoch, epoch == 8) ? '+' : '-';
  EXPECT_EQ(due, "--+-+-++");
}

TEST(Validation, LosesPatienceWhenABetterScoreStaysAway) {
  Decisions run;
  run.config.train.patience = 2;
  Validation validation = run.make();
  Progress progress;
  progress.epoch = 1;
  EXPECT_TRUE(validation.record_score(scored(0, 0), progress)) << "the first is the best";
  progress.epoch = 2;
  EXPECT_TRUE(validation.record_score(scored(0.3, 0.5), progress));
  EXPECT_EQ(progress.best_epoch, 2);
  EXPECT_EQ(progress.best_score, 0.3);
  EXPECT_FALSE(validation.record_score(scored(0.3, 0.9), progress)) << "no better than the best";
  EXPECT_FALSE(validation.out_of_patience(progress));
  EXPECT_FALSE(validation.record_score(scored(0.2, 0.9), progress));
  EXPECT_TRUE(validation.out_of_patience(progress));
  EXPECT_EQ(validation.best()->AP50, 0.5);
  EXPECT_TRUE(validation.record_score(scored(0.4, 0.1), progress));
  EXPECT_FALSE(validation.out_of_patience(progress));
}

TEST(Validation, ScoresByWhatTheRunWantsToBeBestBy) {
  Decisions run;
  run.config.evaluate.best_by = BestBy::AP50;
  Validation validation = run.make();
  Progress progress;
  progress.epoch = 1;
  EXPECT_TRUE(validation.record_score(scored(0.3, 0.5), progress));
  EXPECT_TRUE(validation.record_score(scored(0.2, 0.6), progress));
  EXPECT_EQ(progress.best_score, 0.6);
  EXPECT_FALSE(validation.out_of_patience(progress)) << "without a limit there is always patience";
}

TEST(Validation, IsNotDecidedByOneLuckyEvaluation) {
  // Smoothed over three, the newest counting most: the second evaluation alone is lucky.
  const std::vector<double> scores{0.3, 0.5, 0.3, 0.42, 0.44, 0.45};
  Decisions run;
  for (const int smooth : {1, 3}) {
    run.config.evaluate.smooth = smooth;
    Validation validation = run.make();
    Progress progress;
    std::string best;
    for (const double score : scores) {
      ++progress.epoch;
      best += validation.record_score(scored(score, 0), progress) ? '+' : '-';
    }
    EXPECT_EQ(best, smooth == 1 ? "++----" : "++---+");
    EXPECT_EQ(progress.recent_scores.size(), static_cast<size_t>(smooth));
    EXPECT_NEAR(progress.best_score, smooth == 1 ? 0.5 : (0.42 + 2 * 0.44 + 3 * 0.45) / 6, 1e-12);
    EXPECT_EQ(validation.best()->AP, smooth == 1 ? 0.5 : 0.45) << "the metrics are those of the evaluation";
  }
}

TEST(Validation, ThatBeginsAnewForgetsTheScoresThatItSmoothed) {
  Decisions run;
  run.config.evaluate.smooth = 3;
  run.config.train.average = 2;
  Validation validation = run.make();
  Progress progress;
  for (progress.epoch = 1; progress.epoch <= 3; ++progress.epoch)
    validation.record_score(scored(0.8, 0), progress);
  validation.begin_anew(progress);
  EXPECT_FALSE(validation.best());
  EXPECT_TRUE(progress.kept.empty());
  EXPECT_TRUE(validation.record_score(scored(0.3, 0), progress)) << "of a larger input";
  EXPECT_EQ(progress.best_score, 0.3);
  EXPECT_EQ(progress.best_epoch, 4);
}

TEST(Validation, TakesEqualScoresForEqualHoweverTheyAreSmoothed) {
  Decisions run;
  run.config.evaluate.smooth = 3;
  Validation validation = run.make();
  Progress progress;
  for (progress.epoch = 1; progress.epoch < 20; ++progress.epoch)
    EXPECT_EQ(validation.record_score(scored(0.1 + 0.2, 0), progress), progress.epoch == 1);
}

TEST(Validation, ListsTheBestEvaluationsForTheAverage) {
  Decisions run;
  run.config.train.average = 2;
  Validation validation = run.make();
  Progress progress;
  for (const double score : {0.1, 0.5, 0.3, 0.2, 0.3, no_truths}) {
    ++progress.epoch;
    progress.iteration += 10;
    validation.record_score(scored(score, 0), progress);
  }
  EXPECT_EQ(progress.kept, (std::vector<KeptSet>{{20, 0.5}, {50, 0.3}})) << "of equal scores the later";
  run.config.train.average = 0;
  Progress none;
  run.make().record_score(scored(0.5, 0), none);
  EXPECT_TRUE(none.kept.empty());
}

TEST(Validation, TakesTheNewestForTheBestWhereNothingCanBeScored) {
  Decisions run;
  Validation validation = run.make();
  Progress progress;
  for (const uint64_t epoch : {1, 2}) {
    progress.epoch = epoch;
    EXPECT_TRUE(validation.record_score(scored(no_truths, no_truths), progress));
    EXPECT_EQ(progress.best_epoch, static_cast<int>(epoch));
  }
}

/// A fresh network over the four validation images of a small run.
std::string validate(const RunConfig& config, Communicator& ranks, const std::stop_token& stop = {}) {
  const Dataset train = read_dataset(config.data, Split::train), val = read_dataset(config.data, Split::val);
  const Model model = load_model(config, 2);
  const ParameterLayout layout(model);
  const auto backend = make_cpu_backend();
  SoloCollectives collectives;
  TrainingStep step({.config = config,
                     .model = model,
                     .layout = layout,
                     .backend = *backend,
                     .ranks = ranks.size(),
                     .collectives = collectives},
                    initial_parameters(model, layout, 1));
  Validation validation(config, model, val, ranks);
  const auto metrics = validation.run(step.averaged_network(config.evaluation_size()), stop);
  if (!metrics) return "stopped";
  std::string text = fmt::format("AP {}", metrics->AP);
  for (const JudgedImage& image : metrics->worst) {
    text += fmt::format("\nimage {}: {}", image.id, image.badness);
    for (const ScoredBox& box : image.boxes)
      text += fmt::format(" {}:{},{}:{}", box.class_id, box.x1, box.y1, box.score);
  }
  return text;
}

TEST(Validation, HasTheWorstImagesOfAllRanks) {
  SmallRun run;
  const RunConfig config = run.load();
  const std::string alone = validate(config, Communicator::solo());
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 4) << "the images of the split: " << alone;
  const auto all = on_ranks(2, [&](Communicator& ranks) { return validate(config, ranks); });
  EXPECT_EQ(all[0], alone);
}

TEST(Validation, HasNoMetricsWhenAskedToStop) {
  SmallRun run;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(validate(run.load(), Communicator::solo(), stop.get_token()), "stopped");
}

TEST(Validation, OfOtherImagesThatFailsOnOneRankFailsOnAll) {
  SmallRun run;
  const RunConfig config = run.load();
  const auto ends = on_ranks(2, [&](Communicator& ranks) -> std::string {
    const Dataset val = read_dataset(config.data, Split::val);
    const Model model = load_model(config, 2);
    const ParameterLayout layout(model);
    SeenWork seen;
    seen.before_detection = [&] {
      if (ranks.rank() == 1) throw std::runtime_error("planted");
    };
    WatchedBackend backend(seen);
    SoloCollectives collectives;
    TrainingStep step({.config = config,
                       .model = model,
                       .layout = layout,
                       .backend = backend,
                       .ranks = ranks.size(),
                       .collectives = collectives},
                      initial_parameters(model, layout, 1));
    Validation validation(config, model, val, ranks);
    try {
      validation.measure(step.averaged_network(config.evaluation_size()), val, {});
    } catch (const SharedError& e) {
      return e.what();
    }
    return "no error";
  });
  EXPECT_NE(ends[0].find("planted"), std::string::npos) << ends[0];
  EXPECT_EQ(ends[0], ends[1]);
}

/// The mean loss of a fresh network over five validation images, whose last batch is not full.
MeanLoss loss_of_validation(const RunConfig& config, Communicator& ranks) {
  const Dataset train = read_dataset(config.data, Split::train), val = read_dataset(config.data, Split::val);
  const Model model = load_model(config, 2);
  const ParameterLayout layout(model);
  const auto backend = make_cpu_backend();
  SoloCollectives collectives;
  TrainingStep step({.config = config,
                     .model = model,
                     .layout = layout,
                     .backend = *backend,
                     .ranks = ranks.size(),
                     .collectives = collectives},
                    initial_parameters(model, layout, 1));
  Validation validation(config, model, val, ranks);
  return validation.run(step.averaged_network(config.evaluation_size()))->loss.value();
}

TEST(Validation, HasTheSameLossForAnyBatchAndNumberOfRanks) {
  const SmallRun run(12, 5);
  const MeanLoss one = loss_of_validation(run.load({"evaluate.batch=1"}), Communicator::solo());
  EXPECT_GT(one.box, 0);
  EXPECT_GT(one.objectness, 0);
  EXPECT_GT(one.classes, 0);
  const auto expect_same = [&](const MeanLoss& other) {
    EXPECT_NEAR(other.box, one.box, 1e-5 * one.box);
    EXPECT_NEAR(other.objectness, one.objectness, 1e-5 * one.objectness);
    EXPECT_NEAR(other.classes, one.classes, 1e-5 * one.classes);
  };
  const RunConfig threes = run.load({"evaluate.batch=3", "train.batch=3", "train.micro_batch=1"});
  expect_same(loss_of_validation(threes, Communicator::solo()));
  std::vector<MeanLoss> of_ranks(3);
  on_ranks(3, [&](Communicator& ranks) {
    of_ranks[static_cast<size_t>(ranks.rank())] = loss_of_validation(threes, ranks);
    return std::string();
  });
  const MeanLoss alone = loss_of_validation(threes, Communicator::solo());
  for (const MeanLoss& of_rank : of_ranks) {
    EXPECT_EQ(of_rank.box, alone.box);
    EXPECT_EQ(of_rank.objectness, alone.objectness);
    EXPECT_EQ(of_rank.classes, alone.classes);
  }
}

TEST(Validation, SaysHowManyImagesAreDone) {
  const SmallRun small(12, 5);
  const RunConfig config = small.load({"evaluate.batch=2"});
  const Dataset train = read_dataset(config.data, Split::train), val = read_dataset(config.data, Split::val);
  const Model model = load_model(config, 2);
  const ParameterLayout layout(model);
  const auto backend = make_cpu_backend();
  TrainingStep step({.config = config, .model = model, .layout = layout, .backend = *backend},
                    initial_parameters(model, layout, 1));
  std::string said;
  Validation validation(config, model, val, Communicator::solo(),
                        [&](int64_t done, int64_t images) { said += fmt::format("{}/{} ", done, images); });
  validation.run(step.averaged_network(config.evaluation_size()));
  EXPECT_EQ(said, "1/5 2/5 3/5 4/5 5/5 ");
}

TEST(Validation, HasAnInputOfTheNetworkForEachImageOrTile) {
  Dataset dataset;
  for (const int width : {64, 128}) {
    ImageRecord& image = dataset.images.emplace_back();
    image.width = width;
    image.height = 64;
  }
  EXPECT_EQ(evaluated_images(dataset, {}), 2);
  TileOptions tiles;
  tiles.size = 64;
  tiles.overlap = 0;
  tiles.whole = false;
  EXPECT_EQ(evaluated_images(dataset, tiles), 3);
}

TEST(Validation, OfARunOnTilesLooksAtEachOfThem) {
  const SmallRun small(12, 3);
  const RunConfig config = small.load({"evaluate.batch=1", "data.tiles={size: 40, overlap: 0.25}"});
  const Dataset val = read_dataset(config.data, Split::val);
  const Model model = load_model(config, 2);
  const ParameterLayout layout(model);
  SeenWork seen;
  size_t detections = 0;
  seen.before_detection = [&detections] { ++detections; };
  WatchedBackend backend(seen);
  TrainingStep step({.config = config, .model = model, .layout = layout, .backend = backend},
                    initial_parameters(model, layout, 1));
  Validation validation(config, model, val, Communicator::solo());
  validation.run(step.averaged_network(config.evaluation_size()));
  // A picture of 64 pixels has two tiles a side, and is looked at as a whole.
  EXPECT_EQ(detections, heads * 3 * (2 * 2 + 1));
}

}  // namespace
}  // namespace brightnet::testing
