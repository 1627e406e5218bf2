#include "brightnet/train.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "brightnet/dataset.h"
#include "brightnet/error.h"
#include "brightnet/export.h"
#include "brightnet/log.h"
#include "core/text.h"
#include "formats/weights.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Noting : public RunObserver {
 public:
  void began(const fs::path& of_run) override { folder = of_run; }
  void step(const StepReport& report) override {
    steps.push_back(report.iteration);
    last = report;
    if (report.iteration == stop_after) source.request_stop();
  }
  void evaluated(const StepReport& report, const Scores& scores) override {
    within_epochs.push_back(report);
    EXPECT_EQ(scores.images, 4);
  }
  void epoch(const StepReport&, const Scores* scores) override {
    ++epochs;
    if (scores) AP.push_back(scores->AP);
  }

  int64_t stop_after = 0;
  std::stop_source source;
  fs::path folder;
  std::vector<int64_t> steps;
  std::vector<double> AP;
  std::vector<StepReport> within_epochs;
  StepReport last;
  int epochs = 0;
};

class TrainOf : public ::testing::Test {
 protected:
  TrainingOptions options(const std::string& folder = "run") const {
    return {.run = {.config = run_.config().string(), .settings = SmallRun::short_run()},
            .folder = run_.folder() / folder,
            .device = "cpu"};
  }
  static TrainingResult resumed(const TrainingResult& stopped, RunObserver* observer = nullptr) {
    return train({.resume = true, .folder = stopped.folder, .device = "cpu"}, {}, observer);
  }

  SmallRun run_;
};

// Its batch went through the network as a whole, which was chosen for one rank.
TEST_F(TrainOf, ARunThatNeverSavedMayBeginAgainWithMoreRanks) {
  const TrainingResult result = train(options());
  fs::remove(result.folder / "state/state.safetensors");
  fs::remove(result.folder / "weights/last.safetensors");
  const fs::path config = result.folder / "config.yaml";
  std::string text = read_file(config);
  const size_t at = text.find("micro_batch: 2");
  ASSERT_NE(at, std::string::npos) << text;
  write_atomically(config, text.replace(at, 14, "micro_batch: 4"));
  EXPECT_NO_THROW(check_training({.resume = true, .folder = result.folder, .device = "cpu"}, 2));
}

TEST_F(TrainOf, TellsItsObserverEveryStepAndEpoch) {
  Noting seen;
  const TrainingResult result = train(options(), {}, &seen);
  EXPECT_EQ(result.outcome, TrainingOutcome::finished);
  EXPECT_LT(result.epochs, 10);
  EXPECT_EQ(result.iterations, 6);
  EXPECT_EQ(seen.folder, result.folder);
  EXPECT_EQ(seen.steps.back(), 6);
  EXPECT_EQ(seen.epochs, 2);
  EXPECT_EQ(seen.AP.size(), 2u);
  EXPECT_GT(seen.last.loss, 0);
  EXPECT_EQ(seen.last.epochs, 2);
  EXPECT_EQ(seen.last.steps, 3);
  EXPECT_GT(seen.last.rate, 0);
  EXPECT_EQ(seen.last.epoch, 2);
  EXPECT_EQ(seen.last.step, 3) << "and not 0 of the next epoch";
  EXPECT_EQ(seen.last.iteration, 6);
  // The last row of metrics.csv is of the same epoch.
  const std::vector<TextLine> rows = read_lines(result.folder / "metrics.csv");
  const auto names = csv_fields(rows.front().text), values = csv_fields(rows.back().text);
  ASSERT_TRUE(names && values && names->size() == values->size());
  for (const auto& [name, told] : {std::pair("loss", seen.last.loss),
                                   {"box_loss", seen.last.box},
                                   {"objectness_loss", seen.last.objectness},
                                   {"class_loss", seen.last.classes}}) {
    const size_t column = static_cast<size_t>(std::find(names->begin(), names->end(), name) - names->begin());
    ASSERT_LT(column, values->size()) << name;
    EXPECT_NEAR(told, parse_number((*values)[column]).value_or(-1), 1e-3 * told + 1e-6) << name;
  }
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->per_class.size(), 2u);
  EXPECT_EQ(result.best->images, 4);
  EXPECT_TRUE(fs::exists(result.weights));
  EXPECT_TRUE(fs::exists(result.folder / "report.html"));
}

// With a rate of next to nothing every evaluation gives the same score.
TEST_F(TrainOf, SaysThatABetterScoreStayedAway) {
  TrainingOptions patient = options();
  patient.run.settings = SmallRun::short_run({"optimizer.rate=1e-20", "train.epochs=50", "train.patience=1"});
  const TrainingResult result = train(patient);
  EXPECT_EQ(result.outcome, TrainingOutcome::no_better);
  EXPECT_LT(result.epochs, 10);
}

// As a run of a given time has them where its epochs are long. Each has a row in metrics.csv, at a part of an epoch.
TEST_F(TrainOf, TellsItsObserverOfEvaluationsWithinAnEpoch) {
  const SmallRun larger(400);
  TrainingOptions timed = options();
  timed.run.settings = SmallRun::short_run({"train.batch=1", "train.micro_batch=1", "train.epochs=100000",
                                            "train.average=0", "train.minutes=0.02", "evaluate.every=auto"});
  Noting seen;
  const TrainingResult result = train(timed, {}, &seen);
  EXPECT_EQ(result.outcome, TrainingOutcome::finished);
  size_t rows = 0;
  const std::vector<TextLine> lines = read_lines(result.folder / "metrics.csv");
  // The last row is of the end of the run, which may lie within an epoch too.
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const double epoch = parse_number(lines[i].text.substr(0, lines[i].text.find(','))).value_or(0);
    rows += epoch != std::floor(epoch);
  }
  EXPECT_GT(rows, 0u);
  EXPECT_EQ(seen.within_epochs.size(), rows);
  for (const StepReport& report : seen.within_epochs) {
    EXPECT_GT(report.step, 0);
    EXPECT_LT(report.step, report.steps);
  }
}

TEST_F(TrainOf, StoppedAndResumedEndsInTheSameWeights) {
  const TrainingResult whole = train(options("whole"));
  Noting stopping;
  stopping.stop_after = 4;
  const TrainingResult stopped = train(options("stopped"), stopping.source.get_token(), &stopping);
  EXPECT_EQ(stopped.outcome, TrainingOutcome::stopped);
  EXPECT_EQ(stopped.iterations, 5) << "after the step that follows";
  const TrainingResult rest = resumed(stopped);
  EXPECT_EQ(rest.outcome, TrainingOutcome::finished);
  EXPECT_EQ(rest.folder, stopped.folder);
  const Weights a = Weights::open(whole.folder / "weights/last.safetensors"),
                b = Weights::open(rest.folder / "weights/last.safetensors");
  ASSERT_GT(a.trained().values.size(), 1000u);
  EXPECT_EQ(a.trained().values, b.trained().values) << "to the bit";
  EXPECT_EQ(resumed(rest).outcome, TrainingOutcome::was_over);
}

TEST_F(TrainOf, ItsWeightsAreExportedToBothFormats) {
  const Weights weights = Weights::open(train(options()).weights);
  export_onnx(weights, run_.folder() / "small.onnx", {.batch = 2});
  EXPECT_GT(fs::file_size(run_.folder() / "small.onnx"), 4 * static_cast<uint64_t>(weights.parameters()));
  export_darknet(weights, run_.folder(), "small", "kept");
  const Weights back = Weights::open({.weights = run_.folder() / "small.weights",
                                      .cfg = run_.folder() / "small.cfg",
                                      .names = run_.folder() / "small.names"});
  EXPECT_EQ(back.classes(), weights.classes());
  EXPECT_EQ(back.trained().values.size(), weights.trained().values.size());
  const fs::path wrong = run_.folder() / "wrong.onnx";
  for (const OnnxExportOptions& options :
       std::initializer_list<OnnxExportOptions>{{.height = 33, .width = 33},
                                                {.height = -64, .width = -64},
                                                {.height = 64},
                                                {.batch = -1},
                                                {.heads = "nms", .confidence = 3},
                                                {.heads = "nms", .nms = -1}}) {
    EXPECT_THROW(export_onnx(weights, wrong, options), InputError);
    EXPECT_FALSE(fs::exists(wrong)) << "nothing is replaced by what nobody can read";
  }
}

TEST_F(TrainOf, GoesOnWithoutAnObserverThatThrows) {
  class Throwing : public RunObserver {
   public:
    void step(const StepReport&) override {
      ++calls;
      throw std::runtime_error("the observer is broken");
    }
    int calls = 0;
  };
  Throwing broken;
  const Logged logged;
  EXPECT_EQ(train(options(), {}, &broken).outcome, TrainingOutcome::finished);
  EXPECT_EQ(broken.calls, 1);
  EXPECT_NE(logged.text().find("the observer is broken"), std::string::npos) << logged.text();
}

TEST_F(TrainOf, PrintsNothingAndKeepsItsLogToItself) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const TrainingResult result = train(options());
  {
    const Logged logged;
    evaluate(Weights::open(result.weights), run_.config().string(), {.device = {.device = "cpu"}});
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr(), "");
  const std::string log = read_file(result.folder / "train.log");
  EXPECT_NE(log.find("Training in"), std::string::npos) << log;
  log::info("said after the run");
  EXPECT_EQ(read_file(result.folder / "train.log"), log);
}

// The threshold that it names was measured so.
TEST_F(TrainOf, SaysHowItsWeightsDetectAsTheyWereEvaluated) {
  const auto command = [&](const std::string& name, const std::vector<std::string>& settings) {
    TrainingOptions how = options(name);
    how.run.settings.insert(how.run.settings.end(), settings.begin(), settings.end());
    how.weights = write_small_weights(run_).string();
    const std::string log = read_file(train(how).folder / "train.log");
    const size_t at = log.find("brightnet detect --weights");
    return at == std::string::npos ? "" : log.substr(at, log.find('\n', at) - at);
  };
  EXPECT_EQ(command("whole", {}).find("--tiles"), std::string::npos);
  EXPECT_TRUE(command("tiled", {"data.tiles={size: 32, overlap: 0.25}"}).ends_with(" --tiles 32,0.25"));
  EXPECT_TRUE(command("rounded", {"train.quantize=true"}).ends_with(" --precision int8"));
}

TEST_F(TrainOf, RefusesASecondRunMeanwhile) {
  class Beginning : public RunObserver {
   public:
    explicit Beginning(TrainingOptions other) : other_(std::move(other)) {}
    void step(const StepReport&) override {
      if (refused) return;
      refused = true;
      EXPECT_THROW(train(other_), InputError);
    }
    bool refused = false;

   private:
    TrainingOptions other_;
  };
  Beginning observer(options("other"));
  const TrainingResult result = train(options(), {}, &observer);
  EXPECT_TRUE(observer.refused);
  EXPECT_FALSE(fs::exists(run_.folder() / "other"));
  EXPECT_NE(read_file(result.folder / "train.log").find("Best weights"), std::string::npos)
      << "the log goes on to the end of its run";
  EXPECT_EQ(train(options("other")).outcome, TrainingOutcome::finished) << "afterwards another may begin";
}

TEST_F(TrainOf, TakesADataSetByItsPlace) {
  TrainingOptions named = options();
  named.run.config.clear();
  named.run.model = (run_.folder() / "model.yaml").string();
  named.run.data = (run_.folder() / "data").string();
  const TrainingResult result = train(named);
  EXPECT_EQ(result.outcome, TrainingOutcome::finished);
  const Scores scores = evaluate(Weights::open(result.weights), named.run.data,
                                 {.device = {.device = "cpu", .precision = "fp32"}});
  EXPECT_EQ(scores.images, 4);
  EXPECT_EQ(scores.AP, result.best->AP);
  named.run.data = run_.config().string();
  EXPECT_THROW(train(named), InputError) << "a configuration is no data set";
}

TEST_F(TrainOf, RefusesWhatCannotBeTrained) {
  TrainingOptions wrong = options();
  wrong.run.config = (run_.folder() / "missing.yaml").string();
  EXPECT_THROW(train(wrong), InputError);
  wrong = options();
  wrong.run.settings.push_back("train.epoch=3");
  EXPECT_THROW(train(wrong), InputError);
  wrong = options();
  wrong.device = "abacus";
  EXPECT_THROW(train(wrong), InputError);
  EXPECT_THROW(train({.resume = true, .folder = run_.folder()}), InputError);
}

TEST_F(TrainOf, AnEvaluationCanBeStopped) {
  const Weights weights = Weights::open(train(options()).weights);
  std::vector<int64_t> done;
  EvaluationOptions stopping{.device = {.device = "cpu"}};
  stopping.progress = [&](int64_t images, int64_t all) {
    done.push_back(images);
    EXPECT_EQ(all, 4);
    return images < 2;
  };
  EXPECT_THROW(evaluate(weights, run_.config().string(), stopping), InputError);
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2}));
  stopping.progress = {};
  stopping.height = stopping.width = -64;
  EXPECT_THROW(evaluate(weights, run_.config().string(), stopping), InputError);
  stopping.height = stopping.width = 0;
  stopping.split = "middle";
  EXPECT_THROW(evaluate(weights, run_.config().string(), stopping), InputError);
}

TEST_F(TrainOf, ReadsLabelsAndYieldsTheBatchesOfATraining) {
  const LabeledImages images = read_images((run_.folder() / "data").string(), "train");
  EXPECT_EQ(images.classes.size(), 2u);
  ASSERT_EQ(images.images.size(), 12u);
  EXPECT_EQ(images.images[0].width, 64);
  ASSERT_FALSE(images.images[0].boxes.empty());
  EXPECT_LT(images.images[0].boxes[0].x1, images.images[0].boxes[0].x2);
  EXPECT_THROW(read_images((run_.folder() / "data").string(), "middle"), InputError);
  TrainingBatchOptions wanted{.data = run_.config().string(), .batch = 4, .height = 32, .width = 64};
  std::vector<uint8_t> first;
  for (const char* workers : {"loader.workers=0", "loader.workers=2"}) {
    wanted.settings = {workers, "train.seed=5"};
    TrainingBatches batches(wanted);
    EXPECT_EQ(batches.steps_per_epoch(), 3u);
    EXPECT_EQ(batches.classes(), images.classes);
    const TrainingBatch* batch = batches.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->count, 4);
    EXPECT_EQ(batch->height, 32);
    EXPECT_EQ(batch->width, 64);
    EXPECT_EQ(batch->channels, 3);
    EXPECT_FALSE(batch->truths.empty());
    const std::vector<uint8_t> pixels(batch->pixels, batch->pixels + 4 * 32 * 64 * 3);
    if (first.empty()) first = pixels;
    EXPECT_EQ(pixels, first) << "whatever the number of threads";
    EXPECT_TRUE(batches.next() && batches.next());
    EXPECT_FALSE(batches.next());
  }
  wanted.batch = 0;
  EXPECT_THROW(TrainingBatches{wanted}, InputError);
}

TEST_F(TrainOf, PixelsThatAreKeptOutliveTheirBatchAndTheLoader) {
  for (const char* workers : {"loader.workers=0", "loader.workers=2"}) {
    std::vector<std::pair<std::shared_ptr<uint8_t>, std::vector<uint8_t>>> kept;
    std::set<uint8_t*> places;
    {
      TrainingBatches batches({.data = run_.config().string(),
                               .settings = {workers},
                               .batch = 4,
                               .height = 32,
                               .width = 32,
                               .epochs = 3});
      while (const TrainingBatch* batch = batches.next()) {
        const std::shared_ptr<uint8_t> pixels = batches.keep_pixels();
        ASSERT_EQ(pixels.get(), batch->pixels);
        places.insert(pixels.get());
        kept.emplace_back(pixels, std::vector<uint8_t>(pixels.get(), pixels.get() + 4 * 32 * 32 * 3));
        EXPECT_THROW(batches.keep_pixels(), InputError);
      }
    }
    ASSERT_EQ(kept.size(), 9u);
    EXPECT_EQ(places.size(), 9u);
    for (const auto& [pixels, copy] : kept)
      EXPECT_TRUE(std::equal(copy.begin(), copy.end(), pixels.get())) << workers;
  }
}

TEST_F(TrainOf, ItsShorthandsAreThoseOfTheCommand) {
  run_.write_config("train: {iterations: 50, precision: fp32}\n");  // which the epochs replace
  TrainingOptions shorthands = options();
  std::erase_if(shorthands.run.settings, [](const std::string& setting) {
    return setting.starts_with("train.epochs") || setting.starts_with("train.size") ||
           setting.starts_with("train.batch");
  });
  shorthands.epochs = 1;
  shorthands.run.size = "32x64";
  shorthands.run.batch = 6;
  shorthands.no_graph = true;
  const TrainingResult result = train(shorthands);
  EXPECT_EQ(result.epochs, 1);
  EXPECT_EQ(result.iterations, 2);
  const Weights weights = Weights::open(result.weights);
  EXPECT_EQ(weights.input_height(), 32);
  EXPECT_EQ(weights.input_width(), 64);
  EXPECT_NE(read_file(result.folder / "config.yaml").find("graph: false"), std::string::npos);
  shorthands.run.batch = -1;
  try {
    train(shorthands);
    FAIL() << "a batch below 1";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--batch"), std::string::npos) << error.what();
  }
}

TEST_F(TrainOf, RefusesAnOptionAndASettingThatContradictEachOther) {
  const auto refused = [&](const auto& change, const std::string& option, const std::string& setting) {
    TrainingOptions given =
        options();  // with train.size=64, train.batch=4, train.epochs=2, train.precision=fp32
    given.run.settings.push_back(setting);
    change(given);
    try {
      train(given);
      ADD_FAILURE() << option << " beside " << setting;
    } catch (const InputError& error) {
      const std::string said = error.what();
      EXPECT_NE(said.find(option + " ("), std::string::npos) << said;
      EXPECT_NE(said.find("--set " + setting + ' '), std::string::npos) << said;
    }
    EXPECT_FALSE(fs::exists(given.folder));
  };
  refused([](TrainingOptions& o) { o.epochs = 1; }, "--epochs", "train.epochs=3");
  refused([](TrainingOptions& o) { o.epochs = 2; }, "--epochs", "train.iterations=50");
  refused([](TrainingOptions& o) { o.run.size = "96"; }, "--size", "train.size=64");
  refused([](TrainingOptions& o) { o.run.batch = 8; }, "--batch", "train.batch=4");
  refused([](TrainingOptions& o) { o.run.precision = "bf16"; }, "--precision", "train.precision=fp32");
  refused([](TrainingOptions& o) { o.run.fold = "1/3"; }, "--fold", "data.fold=2/3");
  refused([](TrainingOptions& o) { o.run.model = "demo"; }, "--model", "model=yolov4-tiny");
  refused([](TrainingOptions& o) { o.no_graph = true; }, "--no-graph", "train.graph=true");
  refused([](TrainingOptions& o) { o.weights = "a.safetensors"; }, "--weights",
          "train.weights=b.safetensors");
  TrainingOptions same = options();
  same.run.settings.emplace_back("train.iterations=0");
  same.epochs = 2;
  same.run.size = "64x64";
  same.run.batch = 4;
  same.run.precision = "fp32";
  EXPECT_EQ(train(same).epochs, 2);
}

TEST_F(TrainOf, TakesTheWeightsAndTheDescriptionThatItIsGiven) {
  write_atomically(run_.folder() / "other.weights", std::string("no weights"));
  const auto refusal = [&](const auto& change) -> std::string {
    TrainingOptions given = options();
    change(given);
    try {
      train(given);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string weights = refusal([](TrainingOptions& o) { o.weights = "/nowhere/w.safetensors"; });
  EXPECT_NE(weights.find("/nowhere/w.safetensors"), std::string::npos) << weights;
  const std::string cfg = refusal([&](TrainingOptions& o) {
    o.weights = (run_.folder() / "other.weights").string();
    o.weights_cfg = "/nowhere/w.cfg";
  });
  EXPECT_NE(cfg.find("/nowhere/w.cfg"), std::string::npos) << cfg;
  const std::string fold = refusal([](TrainingOptions& o) { o.run.fold = "7/5"; });
  EXPECT_NE(fold.find("fold"), std::string::npos) << fold;
  const std::string precision = refusal([](TrainingOptions& o) { o.run.precision = "fp99"; });
  EXPECT_NE(precision.find("fp99"), std::string::npos) << precision;
}

}  // namespace
}  // namespace brightnet::testing
