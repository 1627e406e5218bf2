#include "train/loop/trainer.h"

#include <cmath>

#include "tests/train/small_run.h"
#include "tests/train/small_training.h"
#include "train/report/training_images.h"
#include "train/setup/model.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

TEST(Trainer, TakesExactlyThePlannedMemory) {
  SmallRun run;
  for (const auto& more : std::vector<std::vector<std::string>>{
           {},
           {"optimizer.kind=adamw", "train.sizes=[64, 96]", "train.size_every=1"},
           {"ema.decay=0", "evaluate.size=128", "evaluate.batch=4", "train.precision=bf16"}}) {
    const RunConfig config = run.load(more);
    SmallTraining training(config, run.folder() / "out");
    const size_t planned =
        plan_run(config, training.model, *training.backend, config.train.micro_batch).memory.peak();
    EXPECT_EQ(training.backend->peak_bytes(), 0u) << "planning must allocate nothing";
    Trainer trainer = training.make();
    EXPECT_EQ(training.backend->allocated_bytes(), planned);
    trainer.run();
    EXPECT_EQ(training.backend->peak_bytes(), planned) << "nor must steps and evaluations";
    EXPECT_EQ(trainer.memory().peak(), planned);
  }
}

TEST(Trainer, AccumulatesMicroBatchesIntoTheGradientOfTheBatch) {
  // Without batch-norm's statistics, which belong to a micro-batch, the split must not matter.
  SmallRun run;
  std::string model = small_model;
  for (size_t at = 0; (at = model.find("size: 3, ", at)) != std::string::npos; at += 9) {
    model.insert(at, "batch_norm: false, ");
    at += 19;
  }
  write_atomically(run.folder() / "model.yaml", model);
  std::vector<std::map<std::string, std::vector<float>>> results;
  for (const char* micro_batch : {"train.micro_batch=4", "train.micro_batch=1"}) {
    SmallTraining training(run.load({micro_batch, "train.iterations=2", "ema.decay=0"}),
                           run.folder() / "out");
    training.make().run();
    results.push_back(tensors_of(training.folder.last()));
  }
  double difference = 0, size = 0;
  for (const auto& [name, values] : results[0]) {
    const std::vector<float>& others = results[1].at(name);
    ASSERT_EQ(values.size(), others.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      difference = std::max(difference, std::abs(static_cast<double>(values[i]) - others[i]));
      size = std::max(size, std::abs(static_cast<double>(values[i])));
    }
  }
  EXPECT_LT(difference, 1e-5 * size);
}

TEST(Trainer, TakesTheNewestWeightsForTheBestWhereNothingCanBeScored) {
  SmallRun run;
  for (const auto& label : fs::directory_iterator(run.folder() / "data/labels/val"))
    write_atomically(label.path(), "");
  SmallTraining training(run.load({"train.epochs=3", "train.patience=1"}), run.folder() / "out");
  training.watched_by = WatchedBy::all;
  Trainer trainer = training.make();
  EXPECT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(trainer.progress().best_epoch, 3);
  EXPECT_EQ(tensors_of(training.folder.best()), tensors_of(training.folder.last()));
  const auto table = read_metrics_csv(training.folder.metrics());
  EXPECT_TRUE(std::isnan(table.rows[0][static_cast<size_t>(table.column("AP50"))]));
}

TEST(Trainer, StopsWhenABetterScoreStaysAway) {
  SmallRun run;
  // With a rate of next to nothing every evaluation gives the same score.
  SmallTraining training(run.load({"optimizer.rate=1e-20", "train.epochs=50", "train.patience=2"}),
                         run.folder() / "out");
  Trainer trainer = training.make();
  EXPECT_EQ(trainer.run(), TrainingEnd::no_better);
  EXPECT_EQ(trainer.progress().best_epoch, 1);
  EXPECT_EQ(trainer.progress().epoch, 3u);
  SmallTraining again(training.config, training.folder.path(), true);
  Trainer resumed = again.make();
  resumed.resume();
  EXPECT_EQ(resumed.run(), TrainingEnd::no_better) << "and does not go on when it is resumed";
  EXPECT_EQ(resumed.progress().epoch, 3u);
}

TEST(Trainer, LeavesARunFolderAsPeopleExpectIt) {
  SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  training.watched_by = WatchedBy::all;
  training.make().run();
  for (const char* name : {"weights/best.safetensors", "weights/last.safetensors", "state/state.safetensors",
                           "metrics.csv", "results.png", "labels.jpg", "pr_curve.png", "confusion_matrix.png",
                           "train_batch0.jpg", "val_pred0.jpg", "report.html"}) {
    EXPECT_TRUE(fs::exists(training.folder.file(name))) << name;
  }
}

TEST(Trainer, ReportsTheGradientsNormAndHowManyStepsWereClipped) {
  SmallRun run;
  SeenWork seen;
  SmallTraining first(run.load({"optimizer.clip=0"}), run.folder() / "first", false,
                      std::make_unique<WatchedBackend>(seen));
  first.watched_by = WatchedBy::all;
  ASSERT_EQ(first.make().run(), TrainingEnd::finished);
  ASSERT_EQ(seen.norms.size(), 6u);
  const auto table = read_metrics_csv(first.folder.metrics());
  const auto norm = static_cast<size_t>(table.column("gradient_norm"));
  const auto clipped = static_cast<size_t>(table.column("clipped"));
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    const double mean = (seen.norms[3 * epoch] + seen.norms[3 * epoch + 1] + seen.norms[3 * epoch + 2]) / 3;
    EXPECT_NEAR(table.rows[epoch][norm], mean, 1e-6 * mean);
    EXPECT_EQ(table.rows[epoch][clipped], 0);
  }
  // Clipped to just below the first step's norm: that step at least is.
  const double limit = 0.999 * seen.norms[0];
  SeenWork again;
  SmallTraining second(run.load({"optimizer.clip=" + std::to_string(limit)}), run.folder() / "second", false,
                       std::make_unique<WatchedBackend>(again));
  second.watched_by = WatchedBy::all;
  ASSERT_EQ(second.make().run(), TrainingEnd::finished);
  const auto rows = read_metrics_csv(second.folder.metrics()).rows;
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    int above = 0;
    for (size_t step = 0; step < 3; ++step) above += again.norms[3 * epoch + step] > limit;
    EXPECT_NEAR(rows[epoch][clipped], above / 3.0, 1e-6);
  }
  EXPECT_GT(rows[0][clipped], 0);
}

TEST(Trainer, LearnsEightImagesByHeart) {
  SmallRun run(8, 1, 96);
  const std::string data = (run.folder() / "data").string();
  SmallTraining training(
      run.load({"data.val=images/train", "train.size=96", "train.batch=8", "train.micro_batch=8",
                "train.epochs=220", "schedule.warmup=5", "optimizer.rate=0.02", "ema={decay: 0.95, ramp: 20}",
                "evaluate.every=220", "evaluate.start=220", "train.save_every=1000",
                "augment={mosaic: 0, flip: 0, jitter: 0, hue: 0, saturation: 1, exposure: 1}"}),
      run.folder() / "out");
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  ASSERT_TRUE(trainer.best_metrics().has_value());
  EXPECT_GE(trainer.best_metrics()->AP50, 0.99);
  EXPECT_GE(trainer.best_metrics()->AP75, 0.99);
  EXPECT_GE(trainer.best_metrics()->AP, 0.9);
}

TEST(Trainer, HasTheSameLossOnTheSameImagesInTrainingAndValidation) {
  // Without batch-norm, whose statistics differ, without augmentation, and with weights that do not move.
  SmallRun run;
  std::string model = small_model;
  for (size_t at = 0; (at = model.find("size: 3, ", at)) != std::string::npos; at += 28)
    model.insert(at, "batch_norm: false, ");
  write_atomically(run.folder() / "model.yaml", model);
  for (const char* letterbox : {"augment.letterbox=false", "augment.letterbox=true"}) {
    const RunConfig config = run.load(
        {"data.train=images/val", "train.epochs=1", "optimizer.rate=1e-12", "optimizer.decay=0",
         "augment.mosaic=0", "augment.flip=0", "augment.jitter=0", "augment.resize=1", "augment.hue=0",
         "augment.saturation=1", "augment.exposure=1", "evaluate.batch=3", letterbox});
    SmallTraining training(config, run.folder() / "out");
    training.watched_by = WatchedBy::all;
    ASSERT_EQ(training.make().run(), TrainingEnd::finished);
    const auto table = read_metrics_csv(training.folder.metrics());
    ASSERT_EQ(table.rows.size(), 1u);
    const auto value = [&](const char* column) {
      return table.rows[0][static_cast<size_t>(table.column(column))];
    };
    for (const auto& [training_part, validation_part] : {std::pair{"box_loss", "val_box"},
                                                         {"objectness_loss", "val_objectness"},
                                                         {"class_loss", "val_class"},
                                                         {"loss", "val_loss"}}) {
      EXPECT_GT(value(validation_part), 0) << validation_part;
      EXPECT_NEAR(value(validation_part), value(training_part), 2e-5 * value(training_part))
          << validation_part;
    }
  }
}

TEST(Trainer, ComparesTrainingImagesWithValidationWhereTheTimeAllows) {
  const SmallRun run(30, 20);
  double clock = 0;
  for (const bool slow : {false, true}) {
    const RunConfig config = run.load({"train.epochs=20", "evaluate.every=20"});
    SeenWork seen;
    seen.before_loss = [&clock] { clock += 10; };
    seen.before_detection = [&clock, slow] { clock += slow ? 100 : 1; };
    SmallTraining training(config, run.folder() / "out", false, std::make_unique<WatchedBackend>(seen));
    training.now = [&clock] { return clock; };
    Trainer trainer = training.make();
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    const auto images = measure_training_images(trainer, *training.setup);
    ASSERT_EQ(images.has_value(), !slow);
    if (slow) break;
    EXPECT_EQ(images->training.images, 20) << "no more than validation has";
    EXPECT_EQ(images->validation.images, 20);
    size_t objects = 0;
    for (size_t i = 0; i < 20; ++i) objects += training.train.images[i * 30 / 20].annotations.size();
    EXPECT_EQ(images->training.truths, static_cast<int64_t>(objects)) << "evenly spaced";
  }
}

TEST(Trainer, ComparesNoTrainingImagesForLongerThanItsMinutes) {
  const SmallRun run(30, 20);
  double clock = 0;
  const RunConfig config =
      run.load({"train.epochs=10", "evaluate.every=10", "train.minutes=10000", "train.average=0"});
  SeenWork seen;
  seen.before_loss = [&clock] { clock += 20; };
  seen.before_detection = [&clock] { clock += 1; };
  SmallTraining training(config, run.folder() / "out", false, std::make_unique<WatchedBackend>(seen));
  training.now = [&clock] { return clock; };
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  ASSERT_EQ(trainer.progress().epoch, 10u) << "which take less";
  const auto is_measured = [&] { return measure_training_images(trainer, *training.setup).has_value(); };
  EXPECT_TRUE(is_measured());
  clock += trainer.seconds_left().value() - 2;  // an image takes one
  EXPECT_FALSE(is_measured());
}

}  // namespace
}  // namespace brightnet::testing
