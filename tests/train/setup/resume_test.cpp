// Which values a run that is resumed may change (docs/resume.md).
#include "train/setup/resume.h"

#include <regex>

#include "tests/train/small_run.h"
#include "train/setup/model.h"

namespace brightnet::testing {
namespace {

/// The folder of a run that has begun.
class ResumedRun : public ::testing::Test {
 protected:
  ResumedRun() {
    const RunFolder folder = RunFolder::create(run_.folder() / "out");
    write_atomically(folder.model(), std::string(small_model));
    RunConfig config = run_.load();
    config.model = folder.model().filename().string();
    write_atomically(folder.config(), print_config(config));
    request_.resuming = true;
    request_.resume = folder.path().string();
  }
  OpenRun open(const std::string& assignment) {
    request_.overrides.assignments = {assignment};
    return open_old_run(request_);
  }
  std::string refusal(const std::string& assignment) {
    try {
      open(assignment);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

  SmallRun run_;
  RunRequest request_;
};

TEST_F(ResumedRun, MayChangeWhatMakesItNoOtherRun) {
  for (const char* assignment :
       {"loader.workers=0",          "loader.prefetch=2",    "loader.cache_mb=1",
        "loader.paint=cpu",          "evaluate.every=2",     "evaluate.start=2",
        "evaluate.batch=2",          "evaluate.smooth=1",    "evaluate.nms.iou=0.6",
        "train.patience=3",          "train.micro_batch=1",  "train.average=0",
        "train.save_every=1",        "train.save_epochs=1",  "train.log_every=1",
        "train.memory_fraction=0.5", "train.comm_timeout=9", "train.restarts=1",
        "train.overlap=false",       "train.graph=false",    "train.recompute=activations"}) {
    EXPECT_EQ(refusal(assignment), "") << assignment;
    EXPECT_FALSE(open(assignment).new_length) << assignment;
    EXPECT_TRUE(open(assignment).changed) << assignment;
  }
  EXPECT_EQ(open("train.patience=3").config.train.patience, 3);
}

TEST_F(ResumedRun, MayBecomeLonger) {
  for (const char* assignment : {"train.epochs=9", "train.iterations=9"})
    EXPECT_TRUE(open(assignment).new_length) << assignment;
  EXPECT_EQ(open("train.epochs=9").config.train.epochs, 9);
  EXPECT_FALSE(open("train.epochs=2").new_length) << "it has two";
  EXPECT_FALSE(open("train.epochs=2").changed);
}

/// The file behind --weights in a message; the message where there is none.
std::string advised_weights(const std::string& message) {
  std::smatch found;
  return std::regex_search(message, found, std::regex("--weights (\\S+)")) ? found.str(1) : message;
}

TEST_F(ResumedRun, NamesItsOwnWeightsForANewRun) {
  const RunFolder folder = RunFolder::open(request_.resume);
  for (const char* assignment : {"optimizer.rate=0.01", "train.minutes=3"}) {
    EXPECT_EQ(refusal(assignment).find("--weights"), std::string::npos) << "it has none yet: " << assignment;
    EXPECT_NE(refusal(assignment).find("or start a new run instead."), std::string::npos)
        << refusal(assignment);
    write_atomically(folder.last(), std::string("weights"));
    EXPECT_EQ(advised_weights(refusal(assignment)), folder.last().string());
    std::filesystem::remove(folder.last());
  }
  write_atomically(folder.last(), std::string("weights"));
  try {
    with_run_found(request_);
    ADD_FAILURE() << "its state is not there";
  } catch (const InputError& e) {
    EXPECT_EQ(advised_weights(e.what()), folder.last().string());
  }
  OpenRun run = open("loader.workers=0");
  run.asked = run.config;
  run.asked->optimizer.rate = 0.01;
  const std::string differences =
      describe_differences(run, "", load_model(run.config, static_cast<int>(run.config.data.classes.size())));
  EXPECT_EQ(advised_weights(differences), folder.last().string());
}

TEST_F(ResumedRun, SaysWhichDifferencesNobodyHasWritten) {
  OpenRun run = open("loader.workers=0");
  run.asked = load_run_config("", {"model=" + run.config.model, "optimizer.rate=0.01"}, false);
  const std::string text =
      describe_differences(run, "", load_model(run.config, static_cast<int>(run.config.data.classes.size())));
  EXPECT_NE(text.find("optimizer.rate: 0.02 in the run, 0.01 in the command line\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("train.save_every: 0 in the run, 30 by default\n"), std::string::npos) << text;
}

TEST_F(ResumedRun, ChangesNothingThatItsWeightsAndScoresDependOn) {
  for (const char* assignment : {"loader.shuffle_buffer=8",
                                 "evaluate.best_by=AP50",
                                 "evaluate.size=96",
                                 "train.seed=1",
                                 "train.size=96",
                                 "train.batch=8",
                                 "train.precision=bf16",
                                 "train.sync_bn=true",
                                 "train.freeze=[conv1]",
                                 "train.grow=0.5",
                                 "train.size_every=3",
                                 "train.static_assignment=0.3",
                                 "train.pretrained_rate=0.5",
                                 "train.deterministic=true",
                                 "optimizer.rate=0.5",
                                 "optimizer.kind=adamw",
                                 "optimizer.momentum=0.5",
                                 "optimizer.decay=0",
                                 "optimizer.clip=1",
                                 "schedule.warmup=2",
                                 "schedule.kind=linear",
                                 "schedule.final=0.5",
                                 "ema.decay=0.5",
                                 "ema.ramp=9",
                                 "augment.mosaic=0",
                                 "augment.mosaic_off=0.5",
                                 "augment.letterbox=true",
                                 "head.box_weight=3",
                                 "data.classes=[square]",
                                 "input.channels=1",
                                 "train.distill=0.5"}) {
    const std::string key = std::string(assignment).substr(0, std::string(assignment).find('='));
    EXPECT_NE(refusal(assignment).find(key), std::string::npos) << assignment << ": " << refusal(assignment);
  }
  EXPECT_NE(refusal("train.minutes=3").find("cannot be given a time limit"), std::string::npos);
}

// A run that ended before its first save begins again.
TEST_F(ResumedRun, BeginsAgainWithAllThatItsWeightsNeed) {
  const std::filesystem::path weights = run_.folder() / "others.weights", cfg = run_.folder() / "others.cfg";
  for (const auto& file : {weights, cfg}) write_atomically(file, "x");
  TrainOptions train;
  train.weights = weights.string();
  train.weights_cfg = cfg.string();
  train.weights_partial = true;
  write_start(RunFolder::open(request_.resume), train);
  const TrainOptions again = config_of_begun_run(request_).train;
  EXPECT_EQ(again.weights, train.weights);
  EXPECT_EQ(again.weights_cfg, train.weights_cfg);
  EXPECT_TRUE(again.weights_partial);
}

}  // namespace
}  // namespace brightnet::testing
