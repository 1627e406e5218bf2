#include "train/setup/chosen_folder.h"

#include "tests/formats/small_cfg.h"
#include "tests/train/small_training.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A request to train small.cfg on a small run's images.
RunRequest request_of_cfg(const SmallRun& run) {
  write_atomically(run.folder() / "small.cfg", small_cfg);
  RunRequest request;
  request.config = (run.folder() / "small.cfg").string();
  request.overrides.assignments = {"data.format=yolo", "data.root=" + (run.folder() / "data").string(),
                                   "data.train=images/train", "data.val=images/val",
                                   "data.classes=[circle, square]"};
  request.out = (run.folder() / "out").string();
  return request;
}

TEST(RunPlace, ACfgIsImportedOnceForANewRun) {
  const SmallRun run;
  const RunRequest request = request_of_cfg(run);
  Communicator& alone = Communicator::solo();
  const RunPlace place(request, alone);
  write_atomically(request.config, std::string("read again"));
  const Preparation prepared = prepare(place.request(), common_device(alone, [] { return "cpu"; }), alone);
  EXPECT_EQ(prepared.config.name, "small");
  EXPECT_EQ(prepared.model.classes, 2);
  EXPECT_EQ(place.folder().path(), run.folder() / "out");
}

TEST(RunPlace, ACfgThatNamesTheRunToResumeIsImportedOnce) {
  const SmallRun run;
  RunRequest request = request_of_cfg(run);
  request.out.clear();
  request.resuming = true;
  const RunFolder folder = RunFolder::create(run.folder() / "runs/small");
  write_atomically(folder.state(), std::string());
  write_atomically(folder.model(), std::string(small_model));
  write_atomically(
      folder.config(),
      "name: small\nmodel: model.yaml\ndata: {format: yolo, root: " + (run.folder() / "data").string() +
          ", train: images/train, val: images/val, classes: [circle, square]}\n");
  const fs::path before = fs::current_path();
  fs::current_path(run.folder());
  const RunRequest found = with_run_found(request);
  fs::current_path(before);
  write_atomically(request.config, std::string("read again"));
  RunRequest again = request;
  again.resume = folder.path().string();
  again.loaded = found.loaded;
  const OpenRun old = open_old_run(again);
  ASSERT_TRUE(old.asked);
  EXPECT_EQ(old.asked->name, "small");
}

TEST(RunPlace, AFolderThatBecameAnothersDuringThePreparationIsNotWritten) {
  const SmallRun run;
  RunRequest request;
  request.config = run.config().string();
  request.overrides.assignments = SmallRun::short_run();
  request.out = (run.folder() / "out").string();
  Communicator& alone = Communicator::solo();
  std::optional<RunFolder> other;
  const auto given_away = [&](const fs::path& folder) {
    fs::rename(folder, run.folder() / "away");
    other = RunFolder::create(folder);
    write_atomically(other->config(), std::string("the other's"));
  };
  try {
    run_training(request, common_device(alone, [] { return "cpu"; }), alone, {.folder_found = given_away});
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("may be another run's now"), std::string::npos) << error.what();
  }
  EXPECT_EQ(read_file(other->config()), "the other's");
  EXPECT_FALSE(fs::exists(other->model()));
  EXPECT_FALSE(fs::exists(other->start()));
}

// Somebody has made room, or has copied the run without its large files.
TEST(RunPlace, AFolderOfWeightsThatIsGoneIsMadeAgain) {
  const SmallRun run;
  RunRequest request;
  request.config = run.config().string();
  request.overrides = SmallRun::short_run({"train.epochs=1", "train.average=0"});
  request.out = (run.folder() / "out").string();
  Communicator& alone = Communicator::solo();
  const auto train = [&] {
    return run_training(request, common_device(alone, [] { return "cpu"; }), alone, {}).end;
  };
  ASSERT_EQ(train(), TrainingEnd::finished);
  const RunFolder folder = RunFolder::open(request.out);
  const fs::path weights = folder.last().parent_path();
  change_state(SmallTraining(load_run_config(folder.config()), folder.path(), true),
               [](RunState& state) { state.progress.best_score = -0.5; });  // none is below 0
  request = {};
  request.resuming = true;
  request.resume = folder.path().string();
  request.overrides.assignments = {"train.epochs=2"};
  fs::remove_all(weights);
  EXPECT_EQ(train(), TrainingEnd::finished);
  EXPECT_TRUE(fs::exists(folder.last()) && fs::exists(folder.best()));
  fs::remove_all(weights);
  fs::remove(folder.state());
  EXPECT_EQ(train(), TrainingEnd::finished) << "it begins again";
  EXPECT_TRUE(fs::exists(folder.last()) && fs::exists(folder.best()) && fs::exists(folder.state()));
  // A link in its place is no missing folder, wherever it leads.
  fs::remove_all(weights);
  fs::create_directory_symlink(run.folder() / "elsewhere", weights);
  try {
    train();
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("is a symbolic link"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(run.folder() / "elsewhere"));
}

}  // namespace
}  // namespace brightnet::testing
