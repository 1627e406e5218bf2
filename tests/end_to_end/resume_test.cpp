// Where a run is written, and which run --resume takes.

#include "tests/end_to_end/runs.h"
#include "tests/train/small_weights.h"
#include "train/report/metrics_csv.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Resumed : public Runs {
 protected:
  static void expect_words(const ProgramResult& result, int code, const std::vector<std::string>& words) {
    EXPECT_EQ(result.code, code) << result.err;
    for (const std::string& word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << " in: " << result.err;
  }
  std::vector<double> column(const std::string& run, const std::string& name) {
    const MetricsTable table = read_metrics_csv(path(run) / "metrics.csv");
    std::vector<double> values;
    for (const auto& row : table.rows) values.push_back(row[static_cast<size_t>(table.column(name))]);
    return values;
  }
};

TEST_F(Resumed, FoldersAreNumberedWhichIsSaidFirstAndLast) {
  for (const std::vector<std::string>& out : {std::vector<std::string>{}, {"--out", "mine"}}) {
    ASSERT_EQ(run(train(out, {"train.iterations=1"})).code, 0);
    const ProgramResult second = run(train(out, {"train.iterations=1"}));
    const std::string place = out.empty() ? "runs/run" : "mine";
    expect_words(second, 0, {place + " exists and is kept: this run is written to " + place + "-2."});
    EXPECT_LT(second.err.find("exists and is kept"), second.err.find("Training in ")) << second.err;
    const std::string last = second.out.substr(second.out.rfind('\n', second.out.size() - 2));
    EXPECT_NE(last.find(place + "-2"), std::string::npos) << second.out;
    EXPECT_NE(file(place + "-2/train.log").find("exists and is kept"), std::string::npos);
  }
}

TEST_F(Resumed, SomebodyWhoNamesNothingIsToldWhatThereIs) {
  expect_words(run({"train", "--resume"}), 2, {"there is nothing to resume", "There is no run below runs/"});
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  fs::create_directories(path("runs/detect"));
  expect_words(run({"train", "--resume"}), 2,
               {"the newest first, runs/run-2, runs/run: --resume runs/run-2."});
  expect_words(run({"train", "run.yaml", "--out", "nowhere", "--resume"}), 2,
               {"there is no run to resume", "runs/run-2"});
}

TEST_F(Resumed, ARunThatIsRefusedIsNotSaidToBeWrittenAnywhere) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  write_atomically(path("data/labels/train/000000.txt"), std::string("9 0.5 0.5 0.2 0.2\n"));
  const ProgramResult refused = run(train({}, {"train.iterations=1"}));
  expect_words(refused, 2, {"000000.txt"});
  EXPECT_EQ(refused.err.find("exists and is kept"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(path("runs/run-2")));
}

TEST_F(Resumed, NothingIsLeftOfARunThatCouldNotBegin) {
  fs::rename(path("data/images/val"), path("data/images/away"));
  EXPECT_EQ(run(train({}, {})).code, 2);
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(Resumed, RunsAreFoundWhereverOutHasPutThem) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  ASSERT_EQ(run(train({"--out", "far/away"}, {"train.iterations=1"})).code, 0);
  expect_words(run({"train", "run.yaml", "--resume"}), 0, {"This run is finished", "far/away"});
  // The one that was saved last.
  fs::last_write_time(path("runs/run/state/state.safetensors"),
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  const ProgramResult first = run({"train", "run.yaml", "--resume"});
  EXPECT_EQ(first.err.find("far/away"), std::string::npos) << first.err;
  fs::remove_all(path("runs"));
  fs::rename(path("far"), path("gone"));
  expect_words(run({"train", "run.yaml", "--resume"}), 2, {"there is no run to resume"});
}

TEST_F(Resumed, RunsOfAnotherConfigurationAreNotTakenForNumberedOnes) {
  fs::copy_file(path("run.yaml"), path("run-2.yaml"));
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  ASSERT_EQ(run(with_settings({"train", "run-2.yaml"}, SmallRun::short_run({"train.iterations=1"}))).code, 0);
  ASSERT_TRUE(fs::exists(path("runs/run-2")));
  fs::last_write_time(path("runs/run-2/state/state.safetensors"),
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  expect_words(run({"train", "run.yaml", "--resume"}), 0, {"its own configuration, runs/run/config.yaml"});
  expect_words(run({"train", "run-2.yaml", "--resume"}), 0,
               {"its own configuration, runs/run-2/config.yaml"});
}

TEST_F(Resumed, RunsOfAnotherModelOrOfOtherDataAreNotTakenByTheirName) {
  fs::rename(path("data"), path("toy"));
  fs::create_directories(path("far"));
  fs::copy(path("toy"), path("far/toy"), fs::copy_options::recursive);
  std::string wider = small_model;
  wider.replace(wider.find("filters: 16"), 11, "filters: 24");
  write_atomically(path("wider.yaml"), wider);
  const auto begin = [&](const std::string& model) {
    return run(with_settings({"train", "--model", model, "--data", "toy"},
                             SmallRun::short_run({"train.iterations=1"})))
        .code;
  };
  const auto resume = [&](const std::string& model, const std::string& data) {
    return run({"train", "--model", model, "--data", data, "--resume"});
  };
  ASSERT_EQ(begin("model.yaml"), 0);
  expect_words(resume("wider.yaml", "toy"), 2,
               {"runs/toy is of the model small (runs/toy/model.yaml), not ", "wider.yaml",
                "brightnet train --resume runs/toy", "a new run begins"});
  expect_words(resume("model.yaml", "far/toy"), 2, {"runs/toy is of the data images/train in", "far/toy"});
  expect_words(
      run({"train", "--model", "model.yaml", "--data", "toy", "--set", "data.val=images/train", "--resume"}),
      2, {"and 'images/val' in", "and 'images/train' in"});
  // Of several, the one that is meant.
  ASSERT_EQ(begin("wider.yaml"), 0);
  const std::string finished = "longer: brightnet train --resume runs/";
  expect_words(resume("model.yaml", "toy"), 0, {finished + "toy "});
  expect_words(resume("wider.yaml", "toy"), 0, {finished + "toy-2 "});
  fs::rename(path("toy"), path("gone"));
  expect_words(resume("model.yaml", "far/toy"), 0, {finished + "toy "});
}

TEST_F(Resumed, WhatScoresWereMeasuredByDoesNotChange) {
  ASSERT_EQ(run(train({"--out", "out"}, {"train.iterations=1"})).code, 0);
  for (const char* setting : {"evaluate.best_by=AP50", "evaluate.size=96", "loader.shuffle_buffer=16"}) {
    expect_words(run(with_settings({"train", "--resume", "out"}, {setting})), 2,
                 {"cannot be resumed", std::string(setting).substr(0, std::string(setting).find('='))});
  }
}

TEST_F(Resumed, AModelThatIsNamedAloneSaysNothingAboutTheData) {
  ASSERT_EQ(run(train({}, {"train.iterations=1"})).code, 0);
  const ProgramResult resumed = run({"train", "--model", "model.yaml", "--resume", "runs/run"});
  expect_words(resumed, 0, {"from which the command line differs", " by default\n"});
  EXPECT_EQ(resumed.err.find("data.train"), std::string::npos) << resumed.err;
}

TEST_F(Resumed, ALinkInARunsFolderIsNotWrittenThrough) {
  ASSERT_EQ(run(train({"--out", "out"}, {"train.epochs=1"})).code, 0);
  write_atomically(path("mine.txt"), "mine");
  for (const char* planted :
       {"train.log", "state/lock", "metrics.csv", "report.html", "state/state.safetensors"}) {
    SCOPED_TRACE(planted);
    std::filesystem::rename(path("out") / planted, path("aside"));
    const bool text =
        std::string(planted) != "state/state.safetensors" && std::string(planted) != "metrics.csv";
    // What a resumed run reads is there to be read, behind the link.
    if (!text)
      std::filesystem::copy_file(path("aside"), path("mine.txt"),
                                 std::filesystem::copy_options::overwrite_existing);
    const std::string before = file("mine.txt");
    std::filesystem::create_symlink(path("mine.txt"), path("out") / planted);
    const ProgramResult longer = run({"train", "--resume", "out", "--set", "train.epochs=2"});
    EXPECT_EQ(file("mine.txt"), before);
    if (longer.code != 0) {
      EXPECT_EQ(longer.code, 2);
      EXPECT_NE(longer.err.find(std::string(planted) + ": this is a symbolic link"), std::string::npos)
          << longer.err;
    }
    std::filesystem::remove_all(path("out"));
    std::filesystem::remove(path("aside"));
    ASSERT_EQ(run(train({"--out", "out"}, {"train.epochs=1"})).code, 0);
  }
}

TEST_F(Resumed, AFinishedRunIsMadeLonger) {
  ASSERT_EQ(run(train({"--out", "out"}, {"train.epochs=4"})).code, 0);
  expect_words(run({"train", "--resume", "out"}), 0, {"This run is finished", "--epochs 8"});
  const ProgramResult longer = run({"train", "--resume", "out", "--set", "train.epochs=8"});
  expect_words(longer, 0,
               {"4 of now 8 epochs are done. The learning rate of the rest is that of a run of this length",
                "epoch 8/8"});
  // As a run that had this length from the start, except for what the first four epochs learned.
  ASSERT_EQ(run(train({"--out", "whole"}, {"train.epochs=8"})).code, 0);
  const auto rates = column("out", "learning_rate"), whole = column("whole", "learning_rate");
  ASSERT_EQ(rates.size(), 8u);
  EXPECT_EQ(std::vector(rates.begin() + 4, rates.end()), std::vector(whole.begin() + 4, whole.end()));
  EXPECT_GT(rates[4], rates[3]);
  // The run is of this length from now on.
  expect_words(run({"train", "--resume", "out"}), 0, {"all its 8 epochs are done"});
  expect_words(run({"train", "--resume", "out", "--set", "train.minutes=3"}), 2,
               {"cannot be given a time limit"});
  expect_words(run({"train", "--resume", "out", "--set", "train.batch=2"}), 2, {"train.batch = 4"});
}

TEST_F(Resumed, ValuesThatWereChangedStaySo) {
  const ProgramResult early =
      run(train({"--out", "out"}, {"train.epochs=6", "train.patience=1", "evaluate.every=1",
                                   "evaluate.smooth=1", "optimizer.rate=0.0000001"}));
  expect_words(early, 0, {"training ends early (train.patience)"});
  ASSERT_LT(column("out", "epoch").size(), 6u);
  expect_words(run({"train", "--resume", "out"}), 0, {"This run stopped early", "--set train.patience=0"});
  // Of a run that is over nothing is changed.
  expect_words(run({"train", "--resume", "out", "--set", "train.save_epochs=7"}), 0, {"stopped early"});
  EXPECT_EQ(file("out/config.yaml").find("save_epochs: 7"), std::string::npos);
  expect_words(run({"train", "--resume", "out", "--set", "train.patience=0"}), 0, {"epoch 6/6"});
  EXPECT_NE(file("out/config.yaml").find("patience: 0"), std::string::npos);
  // It is complete, however long ago its best evaluation was, and whatever is asked for now.
  for (const char* value : {"train.patience=1", "train.epochs=2"}) {
    expect_words(run({"train", "--resume", "out", "--set", value}), 0,
                 {"This run is finished: all its 6 epochs are done"});
    EXPECT_NE(file("out/config.yaml").find("epochs: 6"), std::string::npos) << value;
  }
}

TEST_F(Resumed, ARunIsContinuedAfterItsDataWereMoved) {
  ASSERT_EQ(run(train({"--out", "out"}, {"train.iterations=1"})).code, 0);
  fs::rename(path("data"), path("moved"));
  const std::vector<std::string> longer{"train", "--resume", "out", "--set", "train.iterations=2"};
  expect_words(run(longer), 2, {"which does not exist", "--set data.root=FOLDER"});
  expect_words(run(with_settings(longer, {"data.root=" + path("moved").string()})), 0, {"Resuming in out"});
}

TEST_F(Resumed, ARunThatNeverSavedBeginsAgain) {
  write_small_weights(run_);
  ASSERT_EQ(run(train({"--weights", "weights.safetensors", "--out", "whole"}, {})).code, 0);
  ASSERT_EQ(run(train({"--weights", "weights.safetensors"}, {})).code, 0);
  const std::string config = file("runs/run/config.yaml");
  fs::remove(path("runs/run/state/state.safetensors"));
  // The weights of a run whose state is gone are not trained over.
  expect_words(run({"train", "--resume", "runs/run"}), 2, {"its weights are there, but not", "--weights"});
  const auto end_before_first_save = [&] {
    fs::remove(path("runs/run/state/state.safetensors"));
    fs::remove(path("runs/run/weights/last.safetensors"));
  };
  end_before_first_save();
  fs::last_write_time(path("runs/run/config.yaml"), fs::file_time_type::clock::now() + std::chrono::hours(1));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "run.yaml", "--resume"}, {"train", "--resume", "runs/run"}}) {
    end_before_first_save();
    expect_words(
        run(words), 0,
        {"The run in runs/run ended before its first save: it begins again.", "tensors loaded", "epoch 2/2"});
    EXPECT_EQ(file("runs/run/weights/last.safetensors"), file("whole/weights/last.safetensors"))
        << "from the same weights";
    EXPECT_EQ(file("runs/run/config.yaml"), config);
    EXPECT_EQ(column("runs/run", "loss").size(), 2u);
    EXPECT_TRUE(fs::exists(path("runs/run/weights/best-before.safetensors")));
  }
  EXPECT_TRUE(fs::exists(path("runs/run/weights/best-before-2.safetensors"))) << "none replaces another";
}

TEST_F(Resumed, ARunKeepsTheOrderOfItsClasses) {
  // The names are those of the folders' own list, which the run does not keep.
  write_atomically(path("names.yaml"), std::string("model: model.yaml\ndata: {format: coco, root: data, "
                                                   "train: train.json, val: train.json}\n"));
  const auto write_data = [&](const std::string& first, const std::string& second) {
    write_atomically(
        path("data/train.json"),
        R"({"images": [{"id": 1, "file_name": "images/train/000000.jpg", "width": 64, "height": 64}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [4, 4, 20, 20]}],
            "categories": [{"id": 1, "name": ")" +
            first + R"("}, {"id": 2, "name": ")" + second + R"("}]})");
  };
  write_data("circle", "square");
  const auto settings = SmallRun::short_run({"train.iterations=1", "train.batch=2"});
  ASSERT_EQ(run(with_settings({"train", "names.yaml"}, settings)).code, 0);
  EXPECT_EQ(run({"train", "--resume", "runs/names"}).code, 0);
  write_data("square", "circle");
  expect_words(run({"train", "--resume", "runs/names"}), 2,
               {"trained for the classes circle, square, and its data set now has square, circle"});
}

TEST_F(Resumed, ConfigRefusesWhatTrainRefuses) {
  for (const std::vector<std::string>& settings : {std::vector<std::string>{"train.size=100"},
                                                   {"train.freeze=[nowhere]"},
                                                   {"data.train=images/none"},
                                                   {"train.batch=4", "train.micro_batch=3"}}) {
    const ProgramResult shown = run(with_settings({"config", "run.yaml"}, settings));
    const ProgramResult trained = run(with_settings({"train", "run.yaml"}, settings));
    EXPECT_EQ(shown.code, 2) << settings[0] << shown.out;
    EXPECT_EQ(shown.err, trained.err);
    EXPECT_EQ(shown.out, "");
  }
  write_atomically(path("yolov8n.pt"), std::string("PK\x03\x04 and more"));
  for (const char* command : {"config", "train"}) {
    expect_words(run({command, "run.yaml", "--set", "train.weights=yolov8n.pt"}), 2, {"PyTorch"});
  }
  fs::rename(path("data"), path("elsewhere"));
  expect_words(run({"config", "run.yaml", "--set", "data.root=nowhere"}), 0, {"nowhere is not there yet"});
}

}  // namespace
}  // namespace brightnet::testing
