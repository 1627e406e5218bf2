#include "train/loop/trainer.h"

#include <cmath>

#include "formats/safetensors.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "tests/train/small_training.h"
#include "train/distributed/solo.h"
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

// docs/resume.md: a state of a version that planned once, after the first epoch, keeps that plan.
TEST(Trainer, KeepsTheOnePlanOfAVersionThatPlannedOnce) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=50", "train.minutes=100"});
  SmallTraining training(config, run.folder() / "out");
  std::stop_source stop;
  stop.request_stop();
  ASSERT_EQ(training.make().run(stop.get_token()), TrainingEnd::interrupted);
  change_state(training, [](RunState& state) {
    state.progress.plans = {{0, 5}};
    state.progress.times.used = -1;
  });
  SmallTraining again(config, training.folder.path(), true);
  Trainer trainer = again.make();
  trainer.resume();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(trainer.progress().iteration, 5);
}

TEST(Trainer, EndsInTheSameWeightsHoweverOftenItWasInterrupted) {
  SmallRun run;
  // 12 images in batches of 4: three steps an epoch.
  const RunConfig config = run.load({"train.epochs=3", "train.save_epochs=2"});
  SmallTraining whole(config, run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);

  const fs::path parts = run.folder() / "parts";
  for (int part = 1;; ++part) {
    const bool old = part > 1;
    SmallTraining training(config, parts, old);
    Trainer trainer = training.make();
    if (old) trainer.resume();
    std::stop_source stop;
    // A signal that is there from the beginning lets one step be made: after one step, after two, and after
    // the last one of the epoch, before its evaluation. The fourth part ends the run.
    if (part <= 3) stop.request_stop();
    const TrainingEnd end = trainer.run(stop.get_token());
    ASSERT_EQ(end, part <= 3 ? TrainingEnd::interrupted : TrainingEnd::finished);
    if (part > 3) break;
    ASSERT_EQ(trainer.progress().iteration, part);
    ASSERT_EQ(trainer.progress().epoch, 0u);
  }
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(parts / "weights/last.safetensors"));
  EXPECT_EQ(tensors_of(whole.folder.best()), tensors_of(parts / "weights/best.safetensors"));
  EXPECT_EQ(tensors_of(whole.folder.snapshot(2)), tensors_of(parts / "weights/epoch_002.safetensors"));
  EXPECT_NE(tensors_of(whole.folder.snapshot(2)), tensors_of(whole.folder.last()));
  for (const uint64_t epoch : {1, 3}) EXPECT_FALSE(fs::exists(whole.folder.snapshot(epoch))) << epoch;
  EXPECT_EQ(read_metrics_csv(whole.folder.metrics()).rows.size(), 3u);
  const auto table = read_metrics_csv(parts / "metrics.csv");
  ASSERT_EQ(table.rows.size(), 3u);
  const auto expected = read_metrics_csv(whole.folder.metrics());
  for (const char* name : {"loss", "gradient_norm", "clipped", "learning_rate"}) {
    const auto column = static_cast<size_t>(table.column(name));
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(table.rows[i][column], expected.rows[i][column]) << name;
  }
}

/// A machine that goes down in the loss of a step.
class FailingBackend : public cpu::CpuBackend {
 public:
  struct Down {};
  explicit FailingBackend(int losses) : left_(losses) {}
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    if (pass.totals && --left_ < 0) throw Down();
    cpu::CpuBackend::yolo_loss(head, pass);
  }

 private:
  int left_;
};

/// Of one rank, which has nothing to sum.
class SeenCollectives : public SoloCollectives {
 public:
  void abandon() override { ++abandoned; }

  int abandoned = 0;
};

// What is queued may wait for ever for this rank, and memory is freed only after it.
TEST(Trainer, GivesUpTheSumsThatWereStartedWhenAStepFails) {
  SmallRun run;
  for (const int losses : {1000, 4}) {
    SmallTraining training(run.load(), run.folder() / std::to_string(losses), false,
                           std::make_unique<FailingBackend>(losses));
    SeenCollectives collectives;
    Trainer trainer = training.make(&collectives);
    if (losses == 4) {
      EXPECT_THROW(trainer.run(), FailingBackend::Down);
    } else {
      EXPECT_EQ(trainer.run(), TrainingEnd::finished);
    }
    EXPECT_EQ(collectives.abandoned, losses == 4 ? 1 : 0);
  }
}

/// Records as a GPU does, and knows how many of its recordings are held.
class RecordingBackend : public FailingBackend {
 public:
  RecordingBackend(int losses, int& held) : FailingBackend(losses), held_(held) {}
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return std::make_unique<Held>(work, held_);
  }

 private:
  struct Held : Recording {
    Held(std::function<void()> recorded, int& count) : work(std::move(recorded)), held(count) { ++held; }
    ~Held() override { --held; }
    void replay() override { work(); }
    std::function<void()> work;
    int& held;
  };
  int& held_;
};

// NCCL waits for recordings that refer to its communicator, for ever where the trainer holds them.
TEST(Trainer, HoldsNoRecordingWhenItGivesUpSums) {
  SmallRun run;
  int held = 0, held_when_given_up = -1, most = 0;
  SmallTraining training(run.load(), run.folder() / "out", false,
                         std::make_unique<RecordingBackend>(17, held));
  struct Collectives : SoloCollectives {
    explicit Collectives(std::function<void()> see_) : see(std::move(see_)) {}
    void abandon() override { see(); }
    std::function<void()> see;
  } collectives([&] { held_when_given_up = held; });
  struct Watcher : TrainingObserver {
    explicit Watcher(std::function<void()> see_) : see(std::move(see_)) {}
    std::string name() const override { return "a watcher"; }
    void step_done(const StepDone&) override { see(); }
    std::function<void()> see;
  } watcher([&] { most = std::max(most, held); });
  training.observers_besides = {&watcher};
  Trainer trainer = training.make(&collectives);
  EXPECT_THROW(trainer.run(), FailingBackend::Down);
  EXPECT_GT(most, 1) << "of the passes and of the update";
  EXPECT_EQ(held_when_given_up, 0);
}

TEST(Trainer, SavesWithinAnEpochSoThatACrashCostsLittle) {
  SmallRun run;
  const RunConfig config = run.load();  // three steps an epoch, of two micro-batches and two heads each
  SmallTraining whole(config, run.folder() / "whole");
  ASSERT_EQ(whole.make().run(), TrainingEnd::finished);

  const fs::path parts = run.folder() / "parts";
  SmallTraining crashed(config, parts, false, std::make_unique<FailingBackend>(4));
  EXPECT_THROW(crashed.make().run(), FailingBackend::Down);
  SmallTraining rest(config, parts, true);
  Trainer trainer = rest.make();
  trainer.resume();
  EXPECT_EQ(trainer.progress().iteration, 1);
  EXPECT_EQ(trainer.progress().step, 1u);
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(parts / "weights/last.safetensors"));
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
  Trainer trainer = training.make();
  EXPECT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(trainer.progress().best_epoch, 3);
  EXPECT_EQ(tensors_of(training.folder.best()), tensors_of(training.folder.last()));
  const auto table = read_metrics_csv(training.folder.metrics());
  EXPECT_TRUE(std::isnan(table.rows[0][static_cast<size_t>(table.column("AP50"))]));
}

/// A run of three epochs that was stopped in the first one, after the second of three steps.
void stop_in_the_first_epoch(const RunConfig& config, const fs::path& folder) {
  for (const bool old : {false, true}) {
    SmallTraining training(config, folder, old);
    Trainer trainer = training.make();
    if (old) trainer.resume();
    std::stop_source stop;
    stop.request_stop();
    ASSERT_EQ(trainer.run(stop.get_token()), TrainingEnd::interrupted);
    EXPECT_FALSE(trainer.over());
  }
}

TEST(Trainer, DoesTheRestOfItsEpochsWithDataThatHaveChanged) {
  SmallRun run;
  const fs::path images = run.folder() / "data/images/train", labels = run.folder() / "data/labels/train";
  std::vector<fs::path> names;
  for (const auto& image : fs::directory_iterator(images)) names.push_back(image.path().filename());
  const RunConfig config = run.load({"train.epochs=3"});
  for (const bool more : {true, false}) {
    const fs::path folder = run.folder() / (more ? "more" : "fewer");
    stop_in_the_first_epoch(config, folder);
    for (size_t i = 0; i < names.size(); ++i) {
      const fs::path name = names[i], label = fs::path(name).replace_extension(".txt");
      if (more) {
        fs::copy(images / name, images / ("more_" + name.string()));
        fs::copy(labels / label, labels / ("more_" + label.string()));
      } else if (i >= 4) {
        fs::remove(images / name);
      }
      if (!more) fs::remove(images / ("more_" + name.string()));
    }
    SmallTraining training(config, folder, true);
    ASSERT_EQ(training.train.images.size(), more ? 24u : 4u);
    Trainer trainer = training.make();
    const testing::Logged logged;
    trainer.resume();
    const std::string words = logged.text();
    EXPECT_NE(words.find("training split has changed"), std::string::npos) << words;
    EXPECT_EQ(words.find("validation split"), std::string::npos) << words;
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    EXPECT_EQ(trainer.progress().epoch, 3u);
    EXPECT_EQ(read_metrics_csv(training.folder.metrics()).rows.size(), 3u);
    // Six steps an epoch now, of which two are done; or one, which with two is over.
    EXPECT_EQ(trainer.progress().iteration, more ? 18 : 4);
  }
}

TEST(Trainer, KnowsItsBestScoreAndThatItIsOverAfterAResume) {
  SmallRun run;
  SmallTraining training(run.load(), run.folder() / "out");
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_TRUE(trainer.over());
  SmallTraining again(training.config, training.folder.path(), true);
  Trainer resumed = again.make();
  const testing::Logged logged;
  resumed.resume();
  EXPECT_EQ(logged.text(), "") << "nothing has changed";
  EXPECT_TRUE(resumed.over());
  ASSERT_TRUE(resumed.best_metrics().has_value());
  EXPECT_EQ(resumed.best_metrics()->AP, trainer.best_metrics()->AP);
  EXPECT_EQ(resumed.best_metrics()->per_class.size(), 2u);
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
  ASSERT_EQ(second.make().run(), TrainingEnd::finished);
  const auto rows = read_metrics_csv(second.folder.metrics()).rows;
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    int above = 0;
    for (size_t step = 0; step < 3; ++step) above += again.norms[3 * epoch + step] > limit;
    EXPECT_NEAR(rows[epoch][clipped], above / 3.0, 1e-6);
  }
  EXPECT_GT(rows[0][clipped], 0);
}

/// Notes which assignment the losses of training have, and those of validation.
class AssignmentsOf : public cpu::CpuBackend {
 public:
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    (pass.totals ? of_training : of_validation).push_back(head.assignment);
    cpu::CpuBackend::yolo_loss(head, pass);
  }
  std::vector<AssignmentKind> of_training, of_validation;
};

TEST(Trainer, LetsSimotaTakeAllCandidatesInTheFirstPartOfTheRun) {
  SmallRun run;
  const auto config = [&](const char* assignment, const char* part) {
    return run.load({fmt::format("head.assignment={}", assignment), "head.scale_xy=2", "train.epochs=3",
                     fmt::format("train.static_assignment={}", part)});
  };
  const auto weights = [&](const char* assignment, const char* part) {
    SmallTraining training(config(assignment, part), run.folder() / "runs" / assignment / part);
    EXPECT_EQ(training.make().run(), TrainingEnd::finished);
    return tensors_of(training.folder.last());
  };
  EXPECT_EQ(weights("simota", "1"), weights("neighbours", "0"));
  EXPECT_NE(weights("simota", "0"), weights("neighbours", "0"));
  EXPECT_EQ(weights("best_anchor", "1"), weights("best_anchor", "0")) << "it is simota's";

  // 9 steps of two micro-batches and two heads. Interrupted in each step, also in the first after the change.
  std::vector<AssignmentKind> seen, validated;
  const fs::path parts = run.folder() / "parts";
  for (TrainingEnd end = TrainingEnd::interrupted; end == TrainingEnd::interrupted;) {
    const bool old = !seen.empty();
    auto device = std::make_unique<AssignmentsOf>();
    const AssignmentsOf& assignments = *device;
    SmallTraining training(config("simota", "0.5"), parts, old, std::move(device));
    Trainer trainer = training.make();
    if (old) trainer.resume();
    std::stop_source stop;
    // A signal that is there from the beginning lets one step be made, but no evaluation: none after the last step of
    // an epoch.
    if (trainer.progress().step < 3) stop.request_stop();
    end = trainer.run(stop.get_token());
    seen.insert(seen.end(), assignments.of_training.begin(), assignments.of_training.end());
    validated.insert(validated.end(), assignments.of_validation.begin(), assignments.of_validation.end());
  }
  ASSERT_EQ(seen.size(), 36u);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], i < 20 ? AssignmentKind::neighbours : AssignmentKind::simota) << "call " << i;
  // By the assignment of the step before: of four images in two heads after the first epoch, and from the second on.
  ASSERT_GT(validated.size(), 16u);
  for (size_t i = 0; i < validated.size(); ++i)
    EXPECT_EQ(validated[i], i < 8 ? AssignmentKind::neighbours : AssignmentKind::simota) << "image " << i / 2;
  EXPECT_EQ(tensors_of(parts / "weights/last.safetensors"), weights("simota", "0.5"));
}

/// Notes the rates of each step.
class RatesOf : public cpu::CpuBackend {
 public:
  void optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                      std::span<const ParameterRange> of, const StepState* state) override {
    shares.push_back(state->pretrained_share);
    // conv3 and conv5 are new: two ranges each, weights and biases.
    pretrained = std::count_if(of.begin(), of.end(), [](const auto& range) { return range.pretrained; });
    fresh = static_cast<int64_t>(of.size()) - pretrained;
    cpu::CpuBackend::optimizer_step(rule, arrays, of, state);
  }
  std::vector<float> shares;
  int64_t pretrained = 0, fresh = 0;
};

TEST(Trainer, LetsPretrainedLayersComeToTheirRateInTheFirstPartOfTheRun) {
  const SmallRun run;
  const auto shares = [&](const char* part) {
    auto device = std::make_unique<RatesOf>();
    const RatesOf& rates = *device;
    SmallTraining training(run.load({"train.epochs=3", "train.fresh=[conv3, conv5]",
                                     fmt::format("train.pretrained_warmup={}", part)}),
                           run.folder() / "runs" / part, false, std::move(device));
    EXPECT_EQ(training.make().run(), TrainingEnd::finished);
    EXPECT_EQ(rates.fresh, 4);
    EXPECT_GT(rates.pretrained, 0);
    return rates.shares;
  };
  EXPECT_EQ(shares("0.5"), (std::vector<float>{0.2f, 0.4f, 0.6f, 0.8f, 1, 1, 1, 1, 1}));
  EXPECT_EQ(shares("0"), std::vector<float>(9, 1.0f));
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
    const auto images = measure_training_images(trainer, *training.setup, training.train);
    ASSERT_EQ(images.has_value(), !slow);
    if (slow) break;
    EXPECT_EQ(images->training.images, 20) << "no more than validation has";
    EXPECT_EQ(images->validation.images, 20);
    size_t objects = 0;
    for (size_t i = 0; i < 20; ++i) objects += training.train.images[i * 30 / 20].annotations.size();
    EXPECT_EQ(images->training.truths, static_cast<int64_t>(objects)) << "evenly spaced";
  }
}

}  // namespace
}  // namespace brightnet::testing
