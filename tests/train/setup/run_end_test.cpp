// The end of a run: what it can be without fails, and the run is finished all the same.
#include <set>

#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "train/report/training_images.h"
#include "train/setup/outcome.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Plants what BestEffort calls before each of its works, and takes it away.
struct Planted {
  explicit Planted(std::function<void(const std::string&)> before) {
    BestEffort::before_work = std::move(before);
  }
  ~Planted() { BestEffort::before_work = nullptr; }
};

/// A prepared run, on a clock by which training takes far longer than evaluations.
struct PreparedRun {
  PreparedRun(const SmallRun& small, const std::string& name, std::vector<std::string> more)
      : folder(RunFolder::create(small.folder() / name)) {
    RunRequest request;
    request.config = small.config().string();
    more.insert(more.end(), {"evaluate.every=2", "train.save_every=1e9"});
    request.overrides.assignments = SmallRun::short_run(std::move(more));
    Communicator& solo = Communicator::solo();
    run = prepare(request, common_device(solo, [] { return "cpu"; }), solo);
    fit_into_memory(run, solo);
    run.backend = std::make_unique<WatchedBackend>(seen);
    seen.before_loss = [this] { clock += 1000; };
    seen.before_detection = [this] { clock += 1; };
  }
  Trainer make() {
    setup.emplace(TrainingSetup{.config = run.config,
                                .model = run.model,
                                .train = run.training,
                                .val = run.validation,
                                .backend = *run.backend,
                                .folder = folder,
                                .files = files,
                                .now = [this] { return clock; },
                                .pictures = &run.training_pictures()});
    observers.emplace(*setup, *run.layout);
    setup->observers = observers->all();
    return Trainer(*setup, *run.layout, run.initial);
  }
  /// What `brightnet train` does after the trainer's run, with the scores on training images.
  std::optional<TrainingImages> end(Trainer& trainer) {
    const RunEnding ended{.training_images = measure_training_images(trainer, *setup)};
    say_closing_words(run, folder, trainer.best_metrics(), ended, observers->report());
    return ended.training_images;
  }

  double clock = 0;
  SeenWork seen;
  RunFolder folder;
  Preparation run;
  OutputFiles files = without_pauses();
  /// Of the last trainer.
  std::optional<TrainingSetup> setup;
  std::optional<RunObservers> observers;
};

TEST(RunEnd, IsReachedWhateverFailsOfWhatARunCanBeWithout) {
  const SmallRun small(12, 10);
  std::set<std::string> works;
  PreparedRun whole(small, "whole", {"train.average=0", "train.epochs=1"});
  {
    const Planted collecting([&](const std::string& what) {
      works.insert(what);
      if (what == "The measurement on training images") {
        EXPECT_TRUE(fs::exists(whole.folder.state()) && fs::exists(whole.folder.last()))
            << "what matters first";
      }
    });
    Trainer trainer = whole.make();
    ASSERT_EQ(trainer.run(), TrainingEnd::finished);
    ASSERT_TRUE(whole.end(trainer));
  }
  EXPECT_GE(works.size(), 10u);
  for (const char* what : {"The measurement on training images", "The judgement of the run",
                           "The plot of the curves (results.png)", "The report page (report.html)",
                           "A picture of validation images (val_pred*.jpg)"})
    EXPECT_TRUE(works.contains(what)) << what;
  for (const std::string& failing : works) {
    SCOPED_TRACE(failing);
    const Planted failure([&](const std::string& what) {
      if (what == failing) BRIGHTNET_CHECK(false, "planted");
    });
    PreparedRun run(small, "run", {"train.average=0", "train.epochs=1"});
    Trainer trainer = run.make();
    const Logged logged;
    const TrainingEnd end = trainer.run();
    run.end(trainer);
    const std::string said = logged.text();
    EXPECT_EQ(end, TrainingEnd::finished);
    EXPECT_NE(said.find(failing + " failed"), std::string::npos) << said;
    EXPECT_EQ(said.find("planted"), said.rfind("planted")) << "said once: " << said;
    run.files.check(run.folder);
    for (const auto& file : {run.folder.last(), run.folder.best(), run.folder.state()})
      EXPECT_EQ(tensors_of(file), tensors_of(whole.folder.file(fs::relative(file, run.folder.path()))))
          << file;
    Trainer again = run.make();
    again.resume();
    EXPECT_TRUE(again.over() && !again.average_due());
    fs::remove_all(run.folder.path());
  }
}

TEST(RunEnd, HasItsStateBeforeTheAverageOfTheBestWeightsIsTried) {
  const SmallRun small(12, 10);
  PreparedRun run(small, "run", {"evaluate.every=1", "train.average=2"});
  int64_t detections = 0;
  constexpr int64_t of_two_evaluations = 20;  // of five batches and two heads
  run.seen.before_detection = [&] {
    run.clock += 1;
    if (++detections > of_two_evaluations) throw std::bad_alloc();
  };
  {
    Trainer trainer = run.make();
    EXPECT_THROW(trainer.run(), std::bad_alloc);
  }
  detections = -1000;
  Trainer again = run.make();
  again.resume();
  EXPECT_TRUE(again.over() && again.average_due());
  EXPECT_EQ(again.run(), TrainingEnd::finished);
  EXPECT_EQ(detections, -1000 + of_two_evaluations / 2) << "the average is evaluated";
  const auto last = load_trained_model(run.folder.last()).training;
  EXPECT_TRUE(last.contains("AP")) << "what the process that ended had found of the last weights";
}

TEST(RunEnd, ComparesTrainingPicturesNotTheirTilesWithValidation) {
  const SmallRun small(20, 10);
  PreparedRun run(small, "run", {"train.average=0", "data.tiles={size: 40, overlap: 0.2}"});
  ASSERT_GT(run.run.training.images.size(), 20u);
  Trainer trainer = run.make();
  const Logged logged;
  EXPECT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(logged.text().find("failed"), std::string::npos) << logged.text();
  const auto images = run.end(trainer);
  ASSERT_TRUE(images);
  EXPECT_EQ(images->training.images, 10);
  size_t objects = 0;
  const Dataset pictures = read_dataset(run.run.config.data, Split::train);
  for (size_t i = 0; i < 10; ++i) objects += pictures.images[2 * i].annotations.size();
  EXPECT_EQ(images->training.truths, static_cast<int64_t>(objects));
}

TEST(RunEnd, NamesTheWeightsToUseOfWhichTheAverageIsFirst) {
  const SmallRun small;
  const std::vector<std::string> settings{"train.epochs=1"};
  const auto train = [](const RunRequest& request) {
    Communicator& solo = Communicator::solo();
    return run_training(request, common_device(solo, [] { return "cpu"; }), solo, {});
  };
  RunRequest request;
  request.config = small.config().string();
  request.overrides.assignments = SmallRun::short_run(settings);
  request.out = (small.folder() / "out").string();
  EXPECT_EQ(train(request).weights.filename(), "best.safetensors");
  const SmallTraining training(small.load(settings), request.out, true);
  const RunFolder& folder = training.folder;
  fs::copy_file(folder.best(), folder.averaged());
  change_state(training, [](RunState& state) {
    state.progress.averaged = true;
    state.progress.averaged_score = 0.9;
  });
  RunRequest again;
  again.resuming = true;
  again.resume = request.out;
  const auto expect_named = [&](const fs::path& weights) {
    const Logged logged;
    const TrainedRun over = train(again);
    EXPECT_FALSE(over.end) << "nothing was left to do";
    EXPECT_EQ(over.weights.filename(), weights.filename());
    const std::string& said = logged.text();
    const size_t command = said.find("brightnet detect --weights "), source = said.find(" --source FOLDER");
    ASSERT_LT(command, source) << said;
    EXPECT_NE(said.substr(command, source - command).find(weights.filename().string()), std::string::npos)
        << said;
  };
  expect_named(folder.averaged());
  fs::remove(folder.averaged());
  expect_named(folder.best());
}

}  // namespace
}  // namespace brightnet::testing
